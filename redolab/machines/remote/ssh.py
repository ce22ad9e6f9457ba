"""Connection to a host by OpenSSH's own client, which all commands and copies for the host share.

$REDOLAB_SSH replaces `ssh`, as in `ssh -F /some/config`.
"""

from __future__ import annotations

import math
import os
import secrets
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from redolab.errors import LabError
from redolab.machine import processes
from redolab.machine.distribution import how_to_install
from redolab.machine.processes import Command, Output

_PATIENCE = 30
"""Seconds for a host to answer."""
_LOST_AFTER = 3
"""Questions without an answer after which a connection is lost."""
_FAILED = 255
"""Exit status of ssh when the connection failed, and not the command there."""
_RSYNC_LOST = (_FAILED, 10, 12, 30, 35)
"""Exit statuses of rsync when its connection failed (EXIT VALUES in rsync(1))."""
_NOISE = ("Warning: Permanently added", "** WARNING", "** This session", "** The server")
_REMEDIES = (
    ("Could not resolve hostname", "is there a Host of that name in ~/.ssh/config?"),
    ("Host key verification failed", "connect once by hand and look at its key: ssh {host}"),
    ("Permission denied", "the lab asks for no password: give it a key that 'ssh -o BatchMode=yes {host}' accepts"),
    ("Connection refused", "is sshd running there, on that port?"),
    ("timed out", "is it switched on, and on the network?"),
    ("No route to host", "is it switched on, and on the network?"),
)
_OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": _PATIENCE,
    "ServerAliveInterval": _PATIENCE // _LOST_AFTER,
    "ServerAliveCountMax": _LOST_AFTER,
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "ClearAllForwardings": "yes",
    "ControlPersist": "no",
}


class ConnectionLost(LabError):
    """The machine no longer answers, or the network between no longer carries: what runs there goes on."""


@dataclass(frozen=True, slots=True)
class Ssh:
    """Connection that is open."""

    host: str
    _words: Sequence[str]

    def run(self, arguments: Sequence[str], standard_input: bytes = b"", *, seconds: float = 120.0) -> Output:
        """Run a program there to its end, whatever its exit status. Raises `ConnectionLost`."""
        command = Command(self._command(arguments), standard_input=standard_input)
        output = processes.run(command, seconds=seconds, check=False)
        if output.status == _FAILED:
            raise self._lost(output.err)
        return output

    def rsync(self, arguments: Sequence[str], on_progress: Callable[[int], None] = lambda _: None) -> int:
        """Run rsync over this connection. Return the bytes of the files that it copies.

        `on_progress` is called with the bytes so far. Raises `ConnectionLost`, and `LabError` with rsync's first message.
        """
        if processes.which("rsync") is None:
            raise LabError("rsync is not on this machine", how_to_install(["rsync"]))
        words = ["rsync", "--secluded-args", f"--rsh={shlex.join(self._words)}", "--out-format=%l", *arguments]
        copied, message = 0, ""

        def on_line(line: str) -> None:
            nonlocal copied, message
            if line.isdecimal():
                copied += int(line)
                on_progress(copied)
            elif not line.startswith("skipping"):
                message = message or line

        status = processes.run_by_lines(Command(words), Path(os.devnull), on_line, math.inf)
        if status in _RSYNC_LOST:
            raise self._lost(message)
        if status:
            raise LabError(f"{self.host}: {message or f'rsync ended with status {status}'}")
        return copied

    @contextmanager
    def showing(self, arguments: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        """Run a program there, its output going to ours; the end of the block waits. Raises `ConnectionLost`."""
        sys.stdout.flush()
        with tempfile.TemporaryFile() as errors:
            with subprocess.Popen(
                self._command(arguments), stdin=subprocess.DEVNULL, stderr=errors, start_new_session=True
            ) as process:
                try:
                    yield process
                finally:
                    process.kill()
            errors.seek(0)
            if process.returncode == _FAILED:
                raise self._lost(errors.read().decode(errors="replace"))

    def holding(self, arguments: Sequence[str]) -> AbstractContextManager[str]:
        """Run a program there that ends with its standard input, at the block's end. Yield its first line of output."""
        return _held(self._command(arguments), subprocess.DEVNULL)

    def _command(self, arguments: Sequence[str]) -> list[str]:
        return [*self._words, self.host, shlex.join(arguments)]

    def _lost(self, message: str) -> ConnectionLost:
        return ConnectionLost(
            f"the connection to {self.host} was lost ({last_line(message) or 'it no longer answers'})"
        )


@contextmanager
def connected(host: str, program: Sequence[str]) -> Iterator[Ssh]:
    """Yield a connection by this ssh that all commands for the host share. Raises `LabError` if that fails."""
    if processes.which(program[0]) is None:
        raise LabError(f"{program[0]} is not on this machine", how_to_install(["openssh-client"]))
    # The path of a socket has at most 107 bytes, so it cannot lie in the lab's folder.
    control = Path(tempfile.gettempdir()) / f"redolab-{secrets.token_hex(8)}"
    words = [*program, f"-oControlPath={control}", *(f"-o{name}={value}" for name, value in _OPTIONS.items())]
    with tempfile.TemporaryFile() as errors:
        # The connection ends, and removes its socket, when its input does: with the lab, however that ends.
        with _held([*words, "-oControlMaster=yes", host, "echo connected; exec cat"], errors) as first_line:
            if first_line == "connected":
                yield Ssh(host, [*words, "-oControlMaster=no"])
                return
        errors.seek(0)
        why = errors.read().decode(errors="replace")
    remedy = next((remedy for sign, remedy in _REMEDIES if sign in why), f"see what 'ssh {host}' says")
    raise LabError(f"{host} cannot be reached ({last_line(why) or 'it does not answer'})", remedy.format(host=host))


@contextmanager
def _held(command: Sequence[str], errors: int | IO[bytes]) -> Iterator[str]:
    """Run a program that ends with its standard input, at the end of the block. Yield its first line of output."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode(errors="replace").strip()
        except KeyboardInterrupt:
            process.terminate()
            raise
        finally:
            # The program ends when its input does, also if the connection is lost.
            process.communicate()


def last_line(output: str) -> str:
    """Return the last line of a program's output that is no blank and no noise of ssh."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith(_NOISE)]
    return lines[-1] if lines else ""
