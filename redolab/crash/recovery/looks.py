"""Record of a server's process during a timed recovery (`FOLLOW=on`): the input of `redolab follow` besides the log."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from redolab.errors import InvalidInput
from redolab.watch.following.follow import EVERY
from redolab.watch.following.redo_files import RedoToRecover
from redolab.watch.following.server_process import Look, ServerProcess

_ENDING = ".looks"
_TO_BEGIN, _PAUSE = 5.0, 0.01
"""Seconds to wait: a program that the lab starts becomes a server once its sandbox is ready."""


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """First line of such a file, with the facts that do not change."""

    name: str
    started: float
    """Seconds on the clock of the looks."""
    redo: RedoToRecover | None


def looks_of(log: Path) -> Path:
    """Return where the looks at the process are kept that wrote a log: a line of JSON for each."""
    return log.with_name(log.name + _ENDING)


@contextmanager
def looked_at(pid: int, log: Path) -> Iterator[None]:
    """Record, four times a second within the block, the process of the server that writes this log."""
    over = threading.Event()
    watching = threading.Thread(target=_watch, args=(pid, looks_of(log), over), name=f"looks at {pid}", daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()


def _watch(pid: int, path: Path, over: threading.Event) -> None:
    # The run itself meets a full disk too, and reports it.
    with suppress(OSError):
        if (process := begun(pid, over)) is not None:
            _record(process, path, over)


def begun(pid: int, over: threading.Event) -> ServerProcess | None:
    """Return the server that this process is or becomes within seconds; None if it does not, or is over before that."""
    deadline = time.monotonic() + _TO_BEGIN
    while time.monotonic() < deadline:
        with suppress(InvalidInput):
            return ServerProcess(pid)
        if over.wait(_PAUSE):
            break
    return None


def _record(process: ServerProcess, path: Path, over: threading.Event) -> None:
    looks, redo = list[Look](), process.redo()
    while not over.wait(EVERY):
        # Right after its start a server is not in its data directory yet.
        redo, look = redo or process.redo(), process.look(time.monotonic())
        if look is None or look.listens:
            break
        looks.append(look)
    beginning = Beginning(name=process.name, started=process.started, redo=redo)
    path.write_bytes(msgspec.json.Encoder().encode_lines([beginning, *looks]))
