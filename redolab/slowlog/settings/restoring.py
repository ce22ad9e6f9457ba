"""Undoing of the changes in a note: by the command itself, by its watchdog, or afterwards by `restore`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from redolab.errors import InvalidInput, LabError
from redolab.machine.interrupts import unwinding
from redolab.servers.address import Address
from redolab.slowlog.settings import note as notes
from redolab.slowlog.settings.alone import server_locked
from redolab.slowlog.settings.changes import FILE, QUIET, same_value, undoing
from redolab.slowlog.settings.event import drop_event
from redolab.slowlog.settings.note import Note
from redolab.slowlog.settings.user_server import CLOCK_TOLERANCE, Restarted, UserServer

_TRIES = 3
_PATIENCE = 10.0
"""Seconds for which `restore` tries to reconnect."""
_STILL_OURS = "accepted, but the variable still has the value that was set for a while"


@dataclass(frozen=True, slots=True)
class Messages:
    """Receivers of messages while changes are undone. A failing receiver stops nothing: a terminal may be gone."""

    step: Callable[[str], None]
    person: Callable[[str], None]
    """Receiver of messages that a person must read."""

    def say(self, text: str) -> None:
        """Report a step."""
        with suppress(OSError):
            self.step(text)

    def note(self, text: str) -> None:
        """Report something that a person must read."""
        with suppress(OSError):
            self.person(text)


def restore(
    named: Sequence[Path], address: Address | None, complete: Callable[[Address], Address], messages: Messages
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
                _restore_one(path, address, complete, messages)
            except LabError as error:
                if len(paths) == 1:
                    raise
                failed.append((path, error))
    if failed:
        details = [line for path, error in failed for line in (f"{path}: {error}", *error.details)]
        raise LabError("not everything is put back", "its notes stay", details)
    return len(paths)


def _restore_one(
    path: Path, address: Address | None, complete: Callable[[Address], Address], messages: Messages
) -> None:
    note = notes.read(path)
    with server_locked(note.identity):
        address = address or complete(note.address)
        with closing(UserServer(address, patience=_PATIENCE)) as server:
            put_back(server, path, note, messages)


def put_back(server: UserServer, path: Path, note: Note, messages: Messages) -> None:
    """Undo those changes of a note that are still in force, and remove the note. Raises `LabError`.

    After a restart nothing is changed: the server has its values from its option file. Values that somebody else has
    changed meanwhile stay, and are named. Two processes may do it at once, and again.
    """
    if server.identity.uuid != note.identity.uuid:
        raise InvalidInput(
            f"{server.address} is not the server of {path.name} ({server.identity.uuid}, not {note.identity.uuid})",
            "name the address of the one that was changed",
        )
    try:
        if _is_restarted(note, server.identity.started, server.variables()):
            raise Restarted("the server was restarted")
        if note.connection is not None and note.connection != server.connection_id:
            # The last statement of that connection may still be under way, and would undo what is put back here.
            server.kill(note.connection)
        _undo(server, path, note, messages)
    except Restarted:
        messages.note("the server was restarted: it has its values from its option file again; nothing is changed")
    path.unlink(missing_ok=True)


def _undo(server: UserServer, path: Path, note: Note, messages: Messages) -> None:
    refused: dict[str, str] = {}
    todo = undoing(note.changes, server.variables())
    for _ in range(_TRIES):
        if not todo.undo:
            break
        for change in todo.undo:
            messages.say(f"restoring {change.name} = {change.before!r}")
            try:
                server.carry_out(change.to_undo)
            except Restarted:
                raise
            except LabError as error:
                refused[change.name] = error.problem
        # An accepted statement is no proof: somebody may have set the value again, a proxy may have answered.
        todo = undoing(note.changes, server.variables())
    for change, now in todo.left:
        messages.note(
            f"{change.name} was set to {now!r} by somebody else meanwhile: left (it was {change.before!r} before)"
        )
    if note.changes:
        messages.say("flushing the slow query log")
        _if_it_can(server.flush, messages)
    if note.event is not None:
        event = note.event
        _if_it_can(lambda: drop_event(server, event), messages)
    if todo.undo:
        raise LabError(
            f"not all is put back on {server.address}",
            f"the note stays in {path}; these remain to be done",
            [f"{each.to_undo};   -- {refused.get(each.name, _STILL_OURS)}" for each in todo.undo],
        )


def _if_it_can(do: Callable[[], None], messages: Messages) -> None:
    """Try a step that no longer matters once all variables are put back; report its failure."""
    try:
        do()
    except Restarted:
        raise
    except LabError as error:
        messages.note(error.problem)


def _is_restarted(note: Note, started: float, variables: Mapping[str, str]) -> bool:
    """Return True if the server was restarted after the changes.

    A clock that was set looks like a restart. The stamped name of a captured file and a threshold of half an hour are
    in no option file: a server that still has one of them was not restarted.
    """
    ours = [change for change in note.changes if change.name == FILE or same_value(change.during, QUIET)]
    if any(change.is_in_force(variables.get(change.name, "")) for change in ours):
        return False
    return abs(started - note.identity.started) > CLOCK_TOLERANCE
