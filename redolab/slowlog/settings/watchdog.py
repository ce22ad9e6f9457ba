"""Watchdog: the process that undoes changes when their command cannot: killed, stuck, or cut off from the server.

It starts before the first change, in a session of its own, so that the end of the command's terminal or process group
does not end it. It acts when the command is gone without a message, at the deadline, and when it is told to end
itself.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import FrameType

import msgspec

from redolab.errors import InvalidInput, LabError
from redolab.machine import interrupts
from redolab.servers.address import Address
from redolab.slowlog.settings import note as notes
from redolab.slowlog.settings.note import ServerIdentity
from redolab.slowlog.settings.restoring import Messages, put_back
from redolab.slowlog.settings.user_server import UserServer

PATIENCE = 86_400.0
"""Seconds for which the watchdog retries an unreachable server: a laptop sleeps, a network is away."""
_START = (
    "from redolab.machine.priority import give_way; give_way(); "
    "from redolab.slowlog.settings.watchdog import main; main()"
)
"""Program of the watchdog: lowest priority before any import, whose start takes a tenth of a second of a core."""
_READY = b"ready "
_DONE = b"done"
_TO_START = 30.0
_KEEP_ALIVE_EVERY = 10.0
_AGAIN_EVERY = 10.0


class Orders(msgspec.Struct, frozen=True):
    """Orders to the watchdog, sent through a pipe: the password is in no argument and no file."""

    note: str
    address: Address
    """Address of the server, with the password."""
    identity: ServerIdentity
    """Server to put back: an address may lead to another one."""
    deadline: float
    """Deadline in seconds of the monotonic clock, common to all processes. A later one comes through the pipe."""


class Watchdog:
    """Handle of the watchdog process, for the process that started it."""

    def __init__(self, process: subprocess.Popen[bytes], connection: int) -> None:
        self._process = process
        self.connection = connection
        """Number of the watchdog's own connection on the server."""

    @property
    def pid(self) -> int:
        """Return the process id of the watchdog."""
        return self._process.pid

    def check(self) -> None:
        """Raise `LabError` if the watchdog is gone: nobody could then put back the changes in place of this command."""
        if self._process.poll() is not None:
            raise LabError(f"the watchdog (process {self.pid}) is gone", "everything is put back; see who ended it")

    def wait_until(self, deadline: float) -> None:
        """Set another deadline, in seconds of the monotonic clock."""
        self._send(repr(deadline).encode())

    def dismiss(self) -> None:
        """Tell the watchdog that everything is put back, and let it end."""
        self._send(_DONE)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()


def start_watchdog(note: Path, server: UserServer, lock: int, deadline: float) -> Watchdog:
    """Start a watchdog, which also holds the lock; wait until it has reached the server. Raises `LabError`."""
    address = replace(server.address.noted(), password=server.address.password)
    orders = Orders(str(note), address, server.identity, deadline)
    with interrupts.held():
        process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            pass_fds=(lock,),
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(msgspec.json.encode(orders) + b"\n")
        process.stdin.flush()
        answer = b""
        if select.select([process.stdout], [], [], _TO_START)[0]:
            answer = process.stdout.readline().strip()
    except BaseException:
        process.stdin.close()
        raise
    if not answer.startswith(_READY):
        process.stdin.close()
        raise LabError(
            f"the watchdog that would put everything back could not start ({answer.decode() or 'it said nothing'})",
            "nothing was changed",
        )
    return Watchdog(process, int(answer.removeprefix(_READY)))


def main() -> None:
    """Run the watchdog."""
    pipe = Pipe()
    lines: list[bytes] = []
    while not lines and not pipe.is_closed:
        lines = pipe.lines()
    orders = msgspec.json.decode(lines[0], type=Orders)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    woken = _woken_by_term()
    try:
        server = UserServer(orders.address, patience=PATIENCE)
        if server.identity.uuid != orders.identity.uuid:
            raise InvalidInput(
                f"it reached another server, {server.identity.uuid}", "name one server, not a proxy of several"
            )
    except LabError as error:
        _send_answer(str(error).encode())
        return
    _send_answer(_READY + str(server.connection_id).encode())
    if is_needed(server, pipe, woken, orders.deadline):
        _undo_until_done(server, Path(orders.note))


class Pipe:
    """Lines of standard input. sys.stdin would read ahead of select."""

    def __init__(self) -> None:
        self.is_closed = False
        self._partial = b""

    def lines(self) -> list[bytes]:
        """Wait for input. Return the lines that are complete."""
        chunk = os.read(0, 65536)
        self.is_closed = not chunk
        *whole, self._partial = (self._partial + chunk).split(b"\n")
        return whole


def _woken_by_term() -> int:
    """Return a descriptor that is readable once SIGTERM has come."""
    woken, wake = os.pipe()

    def wake_up(_number: int, _frame: FrameType | None) -> None:
        os.write(wake, b"x")

    signal.signal(signal.SIGTERM, wake_up)
    return woken


def is_needed(server: UserServer, pipe: Pipe, woken: int, deadline: float) -> bool:
    """Wait until the command is done, is gone, or misses its deadline. Return True if there may be changes to undo."""
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([0, woken], [], [], min(left, _KEEP_ALIVE_EVERY))
        if woken in ready:
            return True
        if 0 in ready:
            for line in pipe.lines():
                if line == _DONE:
                    return False
                deadline = float(line)
            if pipe.is_closed:
                return True
        server.keep_alive()
    return True


def _undo_until_done(server: UserServer, path: Path) -> None:
    say = _log(path)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            note = notes.read(path)
        except InvalidInput:
            # Nothing was changed yet, or all is put back.
            return
        try:
            put_back(server, path, note, Messages(say, say))
            say("all is put back")
            return
        except LabError as error:
            for line in (str(error), *error.details):
                say(line)
        if time.monotonic() > deadline:
            return
        time.sleep(_AGAIN_EVERY)


def _log(path: Path) -> Callable[[str], None]:
    def say(text: str) -> None:
        with suppress(OSError), path.with_name("watchdog.log").open("a") as file:
            file.write(f"{datetime.now().astimezone().isoformat(timespec='seconds')} {path.name}: {text}\n")

    return say


def _send_answer(line: bytes) -> None:
    with suppress(OSError):
        os.write(1, line.replace(b"\n", b" ") + b"\n")
