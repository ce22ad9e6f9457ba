"""Undo changes that neither a command nor its watchdog could put back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from redolab.errors import LabError
from redolab.machine.interrupts import unwinding
from redolab.servers.address import Address
from redolab.slowlog.settings import note as notes
from redolab.slowlog.settings.alone import server_locked
from redolab.slowlog.settings.restoring import Telling, put_back
from redolab.slowlog.settings.server import UserServer

_PATIENCE = 10.0


def restore(
    named: Sequence[Path], address: Address | None, complete: Callable[[Address], Address], telling: Telling
) -> int:
    """Undo the changes in these notes, by default in all, the newest first. Return the number of notes.

    A note's own address is used unless one is given; `complete` adds its password. Raises `LabError`: that of a
    single note, or one for all at the end.
    """
    paths = list(named) or notes.all_notes()
    failed: list[tuple[Path, LabError]] = []
    with unwinding():
        for path in paths:
            try:
                _restore_one(path, address, complete, telling)
            except LabError as error:
                if len(paths) == 1:
                    raise
                failed.append((path, error))
    if failed:
        details = [line for path, error in failed for line in (f"{path}: {error}", *error.details)]
        raise LabError("not everything is put back", "its notes stay", details)
    return len(paths)


def _restore_one(path: Path, address: Address | None, complete: Callable[[Address], Address], telling: Telling) -> None:
    note = notes.read(path)
    with server_locked(note.identity):
        server = UserServer(address or complete(note.address.address()), patience=_PATIENCE)
        try:
            put_back(server, path, note, telling)
        finally:
            server.close()
