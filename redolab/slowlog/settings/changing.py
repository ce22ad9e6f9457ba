"""Changing global variables of a user's server for a while."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from redolab.errors import Interrupted, LabError
from redolab.machine import interrupts
from redolab.slowlog.settings import note as notes
from redolab.slowlog.settings.changes import Change
from redolab.slowlog.settings.event import event_name, make_event
from redolab.slowlog.settings.note import Note
from redolab.slowlog.settings.restoring import Messages, put_back
from redolab.slowlog.settings.user_server import UserServer
from redolab.slowlog.settings.watchdog import Watchdog, start_watchdog

_TO_BEGIN = 600.0
"""Seconds that the watchdog allows for making the changes: each may have to reconnect."""
_GRACE = 15.0
"""Seconds after the end from which on the watchdog no longer waits for the command."""
_EVENT_GRACE = 30.0
"""Seconds after which the server itself does: both had their try."""


@dataclass(frozen=True, slots=True)
class TemporaryChanges:
    """Temporary changes: purpose, duration in seconds, and the command's time stamp."""

    purpose: str
    """`capture` or `rotate`."""
    changes: Sequence[Change]
    seconds: float
    stamp: str
    event: bool = False


def stamp_now() -> str:
    """Return the local time for file names: YYYYMMDDhhmmss."""
    return datetime.now().astimezone().strftime("%Y%m%d%H%M%S")


@contextmanager
def while_changed(server: UserServer, temporary: TemporaryChanges, lock: int, messages: Messages) -> Iterator[Watchdog]:
    """Make these changes for the block, and put everything back at its end, however it ends. Raises `LabError`.

    The watchdog is started first, then the note is written, then the first change is made. `lock` is the descriptor
    from `alone_on`.
    """
    path = notes.new_path(temporary.purpose, temporary.stamp)
    watchdog = start_watchdog(path, server, lock, time.monotonic() + temporary.seconds + _TO_BEGIN)
    note = Note(
        purpose=temporary.purpose,
        identity=server.identity,
        address=server.address.noted(),
        changes=tuple(temporary.changes),
        pid=os.getpid(),
        watchdog=watchdog.pid,
        connection=server.connection_id,
        event=event_name(temporary.stamp, os.getpid()) if temporary.event else None,
    )
    notes.write(path, note)
    messages.say(f"process {watchdog.pid} puts everything back should this one be killed; the note is {path}")
    try:
        if note.event is not None:
            messages.say(f"making the event {note.event}")
            make_event(server, note.event, temporary.changes, temporary.seconds + _EVENT_GRACE)
        note = _make(server, note, path, watchdog, messages)
        watchdog.wait_until(time.monotonic() + temporary.seconds + _GRACE)
        yield watchdog
    finally:
        with interrupts.held():
            _put_back(server, path, note, messages)
            watchdog.dismiss()


def put_back_after(stop: Interrupted, left: str) -> Interrupted:
    """Return the interrupt to raise after everything is put back; `left` describes the work done so far."""
    signal = str(stop).partition(":")[0]
    return Interrupted(f"{signal}: everything is put back{left}")


def _make(server: UserServer, note: Note, path: Path, watchdog: Watchdog, messages: Messages) -> Note:
    """Make the changes. Return the note with each set in the form that the server shows."""
    for change in note.changes:
        watchdog.check()
        messages.say(f"setting {change.name} = {change.during!r} (was {change.before!r})")
        # After an interrupt the server could run the statement once its change was undone.
        with interrupts.held():
            server.carry_out(change.to_do)
    now = server.variables()
    shown = tuple(
        Change(each.name, each.before, now.get(each.name, each.during)) if "," in each.during else each
        for each in note.changes
    )
    note = msgspec.structs.replace(note, changes=shown)
    notes.write(path, note)
    return note


def _put_back(server: UserServer, path: Path, note: Note, messages: Messages) -> None:
    try:
        put_back(server, path, note, messages)
    except LabError as error:
        raise LabError(
            f"not all could be put back on {server.address} ({error.problem})",
            f"process {note.watchdog} goes on trying for a day; after it: redolab slowlog restore",
            error.details,
        ) from error
