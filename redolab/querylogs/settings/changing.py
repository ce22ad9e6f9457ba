"""Changing global variables of a user's server for a while."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from redolab.errors import LabError
from redolab.querylogs.settings import note as notes
from redolab.querylogs.settings.changes import Change
from redolab.querylogs.settings.event import event_name, make_event
from redolab.querylogs.settings.guardian import start_guardian
from redolab.querylogs.settings.note import Note, NotedAddress
from redolab.querylogs.settings.restoring import put_back
from redolab.querylogs.settings.server import UserServer

_GRACE = 15.0
"""Seconds after the end at which the guardian no longer waits for the command itself."""
_EVENT_GRACE = 30.0
"""Seconds after which the server itself does: both had their try."""


@dataclass(frozen=True, slots=True)
class TemporaryChanges:
    """What is changed, for how long, and why."""

    purpose: str
    """`capture` or `rotate`."""
    changes: Sequence[Change]
    seconds: float
    stamp: str
    event: bool = False


def stamp_now() -> str:
    """The moment as file names have it: YYYYMMDDhhmmss, local time."""
    return datetime.now().astimezone().strftime("%Y%m%d%H%M%S")


@contextmanager
def changed(server: UserServer, temporary: TemporaryChanges, say: Callable[[str], None]) -> Iterator[None]:
    """While in it: these changes are in force. At its end all is put back, whatever ends it. Raises `LabError`.

    First a guardian is started, then a note is written, then the first change is made.
    """
    identity = server.identity(server.variables())
    path = notes.new_path(temporary.purpose, temporary.stamp)
    deadline = time.time() + temporary.seconds + _GRACE
    guardian = start_guardian(path, server.address, deadline)
    note = Note(
        purpose=temporary.purpose,
        identity=identity,
        address=NotedAddress.of(server.address),
        changes=tuple(temporary.changes),
        pid=os.getpid(),
        guardian=guardian.pid,
        deadline=deadline,
        event=event_name(temporary.stamp) if temporary.event else None,
    )
    notes.write(path, note)
    say(f"process {guardian.pid} puts everything back should this one be killed; the note is {path}")
    try:
        if note.event is not None:
            say(f"making the event {note.event}")
            make_event(server, note.event, temporary.changes, temporary.seconds + _EVENT_GRACE)
        note = _made(server, temporary.changes, note, path, say)
        yield
    except BaseException:
        # What was broken off in the middle of an answer leaves a connection that is no good.
        server.close()
        raise
    finally:
        _put_back(server, path, note, say)
        guardian.dismiss()


def _made(server: UserServer, changes: Sequence[Change], note: Note, path: Path, say: Callable[[str], None]) -> Note:
    """Make the changes; the note then says what the server made of them: a set in an order of its own."""
    for change in changes:
        say(f"setting {change.name} = {change.during!r} (was {change.before!r})")
        server.set_global(change.to_do)
    now = server.variables()
    note = msgspec.structs.replace(
        note, changes=tuple(Change(each.name, each.before, now.get(each.name, each.during)) for each in changes)
    )
    notes.write(path, note)
    return note


def _put_back(server: UserServer, path: Path, note: Note, say: Callable[[str], None]) -> None:
    try:
        put_back(server, path, note, say)
    except LabError as error:
        raise LabError(
            f"not all could be put back on {server.address} ({error.problem})",
            f"process {note.guardian} goes on trying; after it: redolab slowlog restore",
            error.details,
        ) from error
