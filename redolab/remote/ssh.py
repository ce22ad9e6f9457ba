"""One connection to a host by OpenSSH's own client, which all commands for it share.

$REDOLAB_SSH is what to call instead of `ssh`, as in `ssh -F /some/config`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
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
_TO_ITS_END = 600
"""Seconds for a program there to end once it has all that it was given: a disk may have much to write."""
_FAILED = 255
"""With what ssh ends when the connection failed, and not the command there."""
_NOISE = ("Warning: Permanently added", "** WARNING", "** This session", "** The server")
_REMEDIES = (
    ("Could not resolve hostname", "is there a Host of that name in ~/.ssh/config?"),
    ("Host key verification failed", "connect once by hand and look at its key: ssh {host}"),
    ("Permission denied", "the lab asks for no password: give it a key that 'ssh -o BatchMode=yes {host}' accepts"),
    ("Connection refused", "is sshd running there, on that port?"),
    ("timed out", "is it switched on, and on the network?"),
    ("No route to host", "is it switched on, and on the network?"),
)


class ConnectionLost(LabError):
    """The machine no longer answers, or the network between no longer carries: what runs there goes on."""


@dataclass(frozen=True, slots=True)
class Ssh:
    """A connection that is open."""

    host: str
    _words: Sequence[str]

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command here that runs these words there."""
        return [*self._words, self.host, shlex.join(arguments)]

    def run(self, arguments: Sequence[str], standard_input: bytes = b"", *, seconds: float = 120.0) -> Output:
        """Run a program there to its end, however it ends. Raises `ConnectionLost`."""
        said = processes.run(
            Command(self.command(arguments), standard_input=standard_input), seconds=seconds, check=False
        )
        if said.status == _FAILED:
            raise self.lost(said.err)
        return said

    @contextmanager
    def feeding(self, arguments: Sequence[str]) -> Iterator[IO[bytes]]:
        """While in it: what is written goes to the standard input of a program there, which must end in order.

        Raises `ConnectionLost`, and `LabError` with what it said.
        """
        with self._running(arguments, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                yield process.stdin
                process.stdin.close()

    @contextmanager
    def reading(self, arguments: Sequence[str], standard_input: bytes = b"") -> Iterator[BufferedReader]:
        """While in it: what a program there writes to its standard output; it must end in order. Raises as `feeding`."""
        with tempfile.TemporaryFile() as given:
            given.write(standard_input)
            given.seek(0)
            with self._running(arguments, stdin=given, stdout=subprocess.PIPE) as process:
                assert isinstance(process.stdout, BufferedReader)
                yield process.stdout

    @contextmanager
    def holding(self, arguments: Sequence[str]) -> Iterator[bytes]:
        """While in it: a program there runs that ends with its standard input; the first line that it wrote."""
        process = subprocess.Popen(
            self.command(arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            assert process.stdout is not None
            yield process.stdout.readline()
        finally:
            # With its input it ends by itself, also if the connection is lost.
            process.communicate()

    @contextmanager
    def _running(
        self, arguments: Sequence[str], *, stdin: int | IO[bytes], stdout: int = subprocess.DEVNULL
    ) -> Iterator[subprocess.Popen[bytes]]:
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                self.command(arguments), stdin=stdin, stdout=stdout, stderr=errors, start_new_session=True
            )
            try:
                yield process
                status = process.wait(_TO_ITS_END)
            finally:
                process.kill()
                process.wait()
                for stream in (process.stdin, process.stdout):
                    if stream is not None:
                        with suppress(OSError):
                            stream.close()
            if status:
                errors.seek(0)
                said = errors.read().decode(errors="replace")
                if status == _FAILED:
                    raise self.lost(said)
                raise LabError(f"{self.host}: {last_line(said) or f'{arguments[0]} ended with status {status}'}")

    def lost(self, said: str = "") -> ConnectionLost:
        """The error to raise."""
        return ConnectionLost(f"the connection to {self.host} was lost ({last_line(said) or 'it no longer answers'})")


def usual_program() -> Sequence[str]:
    """What to call for ssh, as words."""
    return shlex.split(os.environ.get("REDOLAB_SSH") or "ssh")


@contextmanager
def connected(host: str, program: Sequence[str]) -> Iterator[Ssh]:
    """While in it: a connection by this ssh that all commands for this host share. Raises `LabError` if there is none to be had."""
    if processes.which(program[0]) is None:
        raise LabError(f"{program[0]} is not on this machine", how_to_install(["openssh-client"]))
    with _passing_folder() as folder:
        control = folder / "ssh"
        words = [
            *program,
            *_options(
                ControlPath=control,
                BatchMode="yes",
                ConnectTimeout=_PATIENCE,
                ServerAliveInterval=_PATIENCE // _LOST_AFTER,
                ServerAliveCountMax=_LOST_AFTER,
                ForwardAgent="no",
                ForwardX11="no",
                ClearAllForwardings="yes",
            ),
        ]
        # Dies with the lab, however that ends, and the connection with it.
        master = processes.start(
            Command([*words, *_options(ControlMaster="yes", ControlPersist="no"), "-N", host]), folder / "said"
        )
        try:
            _wait_for(control, master, host)
            yield Ssh(host, [*words, *_options(ControlMaster="no")])
        finally:
            master.stop()


@contextmanager
def _passing_folder() -> Iterator[Path]:
    """While in it: a folder for a socket, whose path has at most 107 bytes: not in the lab's. It goes with the lab, however that ends."""
    folder = tempfile.mkdtemp(prefix="redolab-")
    # Its input ends when the lab does. What was killed with the lab may be making its last file.
    remove = 'cat; rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }'
    remover = subprocess.Popen(["sh", "-c", remove, "sh", folder], stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield Path(folder)
    finally:
        remover.communicate()


def _options(**options: object) -> list[str]:
    return [f"-o{name}={value}" for name, value in options.items()]


def _wait_for(control: Path, master: processes.Process, host: str) -> None:
    deadline = time.monotonic() + 2 * _PATIENCE
    while not control.exists():
        if master.wait(0.05) is not None or time.monotonic() > deadline:
            said = "\n".join(line.text for line in master.lines(time.monotonic() + 1.0))
            why = last_line(said) or "it does not answer"
            remedy = next((remedy for sign, remedy in _REMEDIES if sign in said), f"see what 'ssh {host}' says")
            raise LabError(f"{host} cannot be reached ({why})", remedy.format(host=host))


def last_line(said: str) -> str:
    """The last line in which a program said something that is of use."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith(_NOISE)]
    return lines[-1] if lines else ""
