"""The process that puts back when the command that made the changes cannot: killed, stuck, or cut off from the server.

It is started before the first change, in a session of its own, so that what ends the command's terminal or process group
does not end it. It acts when the command is gone without a word, at the deadline, and when it is itself told to end.
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
from datetime import datetime
from pathlib import Path
from types import FrameType

import msgspec

from redolab.errors import InvalidInput, LabError
from redolab.machine import interrupts
from redolab.querylogs.settings import note as notes
from redolab.querylogs.settings.note import NotedAddress
from redolab.querylogs.settings.restoring import put_back
from redolab.querylogs.settings.server import UserServer
from redolab.servers.address import Address

PATIENCE = 600.0
"""Seconds for which a guardian tries to reach a server that it cannot reach at first."""
_READY = b"ready"
_DONE = b"done\n"
_TO_START = 30.0


class Orders(msgspec.Struct, frozen=True):
    """What a guardian is told, by a pipe: the password is in no argument and no file."""

    note: str
    address: NotedAddress
    password: str | None
    deadline: float
    """Seconds since 1970."""


class Guardian:
    """A guardian from the side of who started it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def dismiss(self) -> None:
        """All is put back: it may go."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(_DONE)
            self._process.stdin.flush()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)


def start_guardian(note: Path, address: Address, deadline: float) -> Guardian:
    """Start one, and wait until it has reached the server itself. Raises `LabError`."""
    orders = Orders(str(note), NotedAddress.of(address), address.password, deadline)
    with interrupts.held():
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(msgspec.json.encode(orders) + b"\n")
        process.stdin.flush()
        said = b""
        if select.select([process.stdout], [], [], _TO_START)[0]:
            said = process.stdout.readline().strip()
    except BaseException:
        process.stdin.close()
        raise
    if said != _READY:
        process.stdin.close()
        raise LabError(
            f"the process that would put everything back could not start ({said.decode() or 'it said nothing'})",
            "nothing was changed",
        )
    return Guardian(process)


def main() -> None:
    """What a guardian does."""
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wake, woken = os.pipe()

    def told_to_end(_number: int, _frame: FrameType | None) -> None:
        os.write(woken, b"x")

    signal.signal(signal.SIGTERM, told_to_end)
    address = orders.address.address().with_password(orders.password)
    try:
        server = UserServer(address, patience=PATIENCE)
        server.close()
    except LabError as error:
        _answer(str(error).encode())
        return
    _answer(_READY)
    # Not by sys.stdin: select sees nothing of what that has read ahead.
    ready, _, _ = select.select([0, wake], [], [], max(0.0, orders.deadline - time.time()))
    if 0 in ready and os.read(0, len(_DONE)) == _DONE:
        return
    _act(server, Path(orders.note))


def _act(server: UserServer, path: Path) -> None:
    say = _log(path)
    try:
        note = notes.read(path)
    except InvalidInput:
        # Nothing was changed yet, or all is put back.
        return
    try:
        put_back(server, path, note, say)
        say("all is put back")
    except LabError as error:
        say(f"{error}")
        for line in error.details:
            say(f"    {line}")


def _log(path: Path) -> Callable[[str], None]:
    def say(text: str) -> None:
        with suppress(OSError), path.with_name("guardian.log").open("a") as file:
            file.write(f"{datetime.now().astimezone().isoformat(timespec='seconds')} {path.name}: {text}\n")

    return say


def _answer(said: bytes) -> None:
    with suppress(OSError):
        os.write(1, said.replace(b"\n", b" ") + b"\n")


if __name__ == "__main__":
    main()
