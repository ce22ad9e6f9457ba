"""Putting back what a note says was changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from redolab.errors import InvalidInput, LabError
from redolab.querylogs.settings import note as notes
from redolab.querylogs.settings.changes import FILE, QUIET, Change, same_value, undoing
from redolab.querylogs.settings.event import drop_event
from redolab.querylogs.settings.note import Note
from redolab.querylogs.settings.server import UserServer

_CLOCK_TOLERANCE = 5.0
"""Seconds by which two readings of a server's start may differ: both clocks tell whole seconds, and may be set."""


def put_back(server: UserServer, path: Path, note: Note, say: Callable[[str], None]) -> None:
    """Take back what is still in force of a note's changes, and remove the note. Raises `LabError`.

    After a restart nothing is changed, as the server has its values from its option file. What somebody else has changed
    meanwhile is left, and named. It may be done by two processes at once, and again.
    """
    variables = server.variables()
    identity = server.identity(variables)
    if identity.uuid != note.identity.uuid:
        raise InvalidInput(
            f"{server.address} is not the server of {path.name} ({identity.uuid}, not {note.identity.uuid})",
            "name the address of the one that was changed",
        )
    if _restarted(note, identity.started, variables):
        say("the server was restarted: it has its values from its option file again; nothing is changed")
        notes.remove(path)
        return
    todo = undoing(note.changes, variables)
    failed: list[str] = []
    for change in todo.undo:
        say(f"restoring {change.name} = {change.before!r}")
        try:
            server.set_global(change.to_undo)
        except LabError as error:
            failed.append(f"{change.to_undo};   -- {error.problem}")
    for change, now in todo.left:
        say(f"{change.name} was set to {now!r} by somebody else meanwhile: left (it was {change.before!r} before)")
    if any(_is_of_the_log(change) for change in note.changes):
        say("flushing the slow query log")
        server.flush()
    if note.event is not None:
        drop_event(server, note.event)
    if failed:
        raise LabError(
            f"not all is put back on {server.address}", f"the note stays in {path}; these remain to be done", failed
        )
    notes.remove(path)


def _restarted(note: Note, started: float, variables: Mapping[str, str]) -> bool:
    """Whether it is another life of the server.

    A clock that was set looks like a restart. But the name of a captured file, with its stamp, and a threshold of half an
    hour are in no option file: who has one of them still is the server that was changed.
    """
    ours = [change for change in note.changes if change.name == FILE or same_value(change.during, QUIET)]
    if any(same_value(variables.get(change.name, ""), change.during) for change in ours):
        return False
    return abs(started - note.identity.started) > _CLOCK_TOLERANCE


def _is_of_the_log(change: Change) -> bool:
    return "slow" in change.name or "long_query" in change.name
