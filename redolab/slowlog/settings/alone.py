"""Lock for one command at a time on a server: another would take temporary values for the server's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from redolab.errors import Busy, LabError
from redolab.machine import files
from redolab.machine.interrupts import unwinding
from redolab.machine.lock import locked
from redolab.progress import Progress
from redolab.servers.address import Address
from redolab.slowlog.settings import note as notes
from redolab.slowlog.settings.changes import left_behind
from redolab.slowlog.settings.note import Note, ServerIdentity
from redolab.slowlog.settings.user_server import UserServer

_NAME = "redolab_slowlog"
TO_LEAVE = 3.0
"""Seconds that an earlier command may need to end after it has put everything back."""


@contextmanager
def user_server_alone(address: Address, progress: Progress) -> Iterator[tuple[UserServer, int]]:
    """Yield a user's server, reached and locked as by `alone_on`; signals raise `Interrupted`. Raises `LabError`."""
    with unwinding(), closing(UserServer(address, say=progress.note)) as server, alone_on(server) as lock:
        yield server, lock


@contextmanager
def alone_on(server: UserServer) -> Iterator[int]:
    """Keep other commands off this server's slow log within the block. Yield the lock's descriptor, for the watchdog.

    Raises `Busy` while another command or its watchdog works, and `LabError` if one has left its changes.
    """
    with server_locked(server.identity) as lock:
        pending = next(_notes_of(server.identity), None)
        if pending is not None:
            raise LabError(
                f"{server.address} still has what an earlier command has set", f"redolab slowlog restore {pending[0]}"
            )
        _check_nobody_from_elsewhere(server)
        yield lock


@contextmanager
def server_locked(identity: ServerIdentity) -> Iterator[int]:
    """Keep other processes with these notes off this server within the block. Raises `Busy`."""
    files.make_folder(notes.folder(), mode=0o700)
    path = notes.folder() / f"{re.sub(r'[^0-9A-Za-z]+', '-', identity.uuid)}.lock"
    with ExitStack() as held:
        try:
            descriptor = held.enter_context(locked(path, patience=TO_LEAVE, mode=0o600))
        except BlockingIOError:
            raise Busy(
                f"another slowlog command, or its watchdog, is at this server{_at_work(identity)}",
                "wait, or end the command with Ctrl-C: it puts back itself",
            ) from None
        yield descriptor


def _at_work(identity: ServerIdentity) -> str:
    return next((f" (process {note.pid}, watchdog {note.watchdog})" for _, note in _notes_of(identity)), "")


def _notes_of(identity: ServerIdentity) -> Iterator[tuple[Path, Note]]:
    """Yield the notes of a server.

    Unreadable notes are left out: they may belong to any server, or be gone by now. The server's variables also show
    changes.
    """
    for path in notes.all_notes():
        try:
            note = notes.read(path)
        except LabError:
            continue
        if note.identity.uuid == identity.uuid:
            yield path, note


def _check_nobody_from_elsewhere(server: UserServer) -> None:
    """Raise `Busy` or `LabError` if another machine or account works on the server or has left changes.

    Such commands have locks of their own, so the server's user lock and its variables show them.
    """
    got_lock = 1
    with suppress(LabError):
        # GET_LOCK fails on a cluster in strict mode. The lock ends with the connection, so it only helps against
        # simultaneous commands.
        got_lock = server.rows(f"SELECT GET_LOCK('{_NAME}', 0)")[0][0]
    if got_lock == 0:
        raise Busy(f"another slowlog command is at {server.address}", "wait until it has put back")
    setting = left_behind(server.variables())
    if setting:
        raise LabError(
            f"{server.address} has {setting}, as a capture or a rotation sets it for a while",
            "run redolab slowlog restore where that was begun, or set it back yourself",
        )
