"""Putting back later what a command and its guardian could not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from redolab.errors import Busy, LabError
from redolab.machine.interrupts import unwinding
from redolab.querylogs.settings import note as notes
from redolab.querylogs.settings.note import Note
from redolab.querylogs.settings.restoring import put_back
from redolab.querylogs.settings.server import UserServer
from redolab.servers.address import Address

_PATIENCE = 10.0


def restore(
    named: Sequence[Path], address: Address | None, complete: Callable[[Address], Address], say: Callable[[str], None]
) -> int:
    """Put back what these notes say, or all that there are; how many.

    A note's own address is used unless one is given; `complete` gives it its password. Raises `LabError` at the end if one
    could not be put back.
    """
    failed: list[str] = []
    done = 0
    paths = list(named) or notes.all_notes()
    with unwinding():
        for path in paths:
            note = notes.read(path)
            try:
                _check_ended(path, note)
                server = UserServer(complete(address or note.address.address()), patience=_PATIENCE)
                try:
                    put_back(server, path, note, say)
                finally:
                    server.close()
                done += 1
            except LabError as error:
                failed += [f"{path}: {error}", *error.details]
    if failed:
        raise LabError("not everything is put back", "its notes stay", failed)
    return done


def _check_ended(path: Path, note: Note) -> None:
    """Raises `Busy` while the command that wrote the note is at work."""
    try:
        running = psutil.Process(note.pid).create_time() <= path.stat().st_mtime
    except psutil.NoSuchProcess:
        return
    if running:
        raise Busy(f"process {note.pid} is still at it", f"end it with Ctrl-C or kill {note.pid}: it puts back itself")
