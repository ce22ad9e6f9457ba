"""Rotation of a slow query log while the server runs: rename it, then reopen it. Logging is paused only if asked.

A log is never truncated, because that blocks its writers. Nothing is removed, and no signal is sent: SIGHUP flushes
tables as well (P. Boros; data/published/query-logs.toml).
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redolab.errors import Interrupted, InvalidInput, LabError
from redolab.machine import interrupts
from redolab.progress import Progress
from redolab.servers.address import Address
from redolab.slowlog.log_file import LogFile, absolute_name, log_on_this_machine
from redolab.slowlog.settings.alone import user_server_alone
from redolab.slowlog.settings.changes import changes_to_be_quiet, file_of, writes_a_file
from redolab.slowlog.settings.changing import TemporaryChanges, put_back_after, stamp_now, while_changed
from redolab.slowlog.settings.checks import check_privileges
from redolab.slowlog.settings.restoring import Telling
from redolab.slowlog.settings.server import UserServer

_TO_ROTATE = 30.0


@dataclass(frozen=True, slots=True)
class Rotated:
    """Result of a rotation."""

    file: str
    """Path of the log in the server's own view."""
    old: str | None
    """Path of the renamed log; None if another program, as logrotate, has renamed it."""
    size: int
    """Bytes of the renamed log."""


def rotate(
    progress: Progress, address: Address, say: Callable[[str], None], *, wait: float = 0.0, renamed: bool = False
) -> Rotated:
    """Rotate a server's slow query log; with `renamed`, logrotate or the like has renamed it. Raises `LabError`.

    Logging is paused from `wait` seconds before to `wait` seconds after. With 0 it is never paused, and no variable
    changes.
    """
    telling = Telling(say, progress.note)
    with user_server_alone(address, progress) as (server, lock):
        return _rotated(server, telling, lock, wait, renamed)


def _rotated(server: UserServer, telling: Telling, lock: int, wait: float, renamed: bool) -> Rotated:
    variables = server.variables()
    if not writes_a_file(variables):
        raise InvalidInput(
            f"{server.address} writes no slow query log into a file: there is nothing to rotate",
            "see slow_query_log and log_output",
        )
    stamp = stamp_now()
    named = absolute_name(file_of(variables), variables.get("datadir", "/"))
    old = f"{named}-{stamp}"
    log = log_on_this_machine(server, named)
    if not renamed:
        _check_can_rename(log, named, stamp)
    check_privileges(server, sets_variables=wait > 0)
    size = log.size if log is not None and not renamed else 0
    # The first sync may take long. Before the pause and the rename, an interrupt still leaves everything as it was.
    if log is not None:
        telling.say(f"syncing {named}")
        log.sync()
    open_anew = partial(_open_anew, server, telling, log, stamp, renamed=renamed)
    if wait:
        temporary = TemporaryChanges("rotate", changes_to_be_quiet(variables), 2 * wait + _TO_ROTATE, stamp)
        done = "" if renamed else f"; what was in the log is in {old}"
        with _paused(server, temporary, lock, telling, wait, done):
            open_anew()
    else:
        with interrupts.held():
            open_anew()
    return Rotated(named, None if renamed else old, size)


@contextmanager
def _paused(
    server: UserServer, temporary: TemporaryChanges, lock: int, telling: Telling, wait: float, done: str
) -> Iterator[None]:
    """Pause logging from `wait` seconds before the block to `wait` seconds after it. Raises `LabError`.

    `done`: text for an interrupt that comes after the block has done its work.
    """
    so_far = ""
    try:
        with while_changed(server, temporary, lock, telling):
            time.sleep(wait)
            with interrupts.held():
                so_far = done
                yield
            time.sleep(wait)
    except Interrupted as stop:
        raise put_back_after(stop, so_far) from stop


def _open_anew(server: UserServer, telling: Telling, log: LogFile | None, stamp: str, *, renamed: bool) -> None:
    """Rename the log, unless it is renamed already, and make the server open a new one. Raises `LabError`.

    MySQL 8.0 and later does not reopen the file while log_output is NONE (sql_reload.cc). After a pause, the flush
    that follows the restored variables does it.
    """
    if log is not None:
        if not renamed:
            telling.say(f"renaming {log.named} to {log.named}-{stamp}")
            renamed_log(log.here, log.here.with_name(f"{log.here.name}-{stamp}"))
        # The server syncs what it closes while all writers wait: what was written since the first sync is little.
        log.sync()
    telling.say("flushing the slow query log")
    try:
        server.flush()
    except LabError as error:
        raise LabError(
            f"the log is renamed, and the server may still write to the old one ({error.problem})",
            "run FLUSH LOCAL SLOW LOGS, or rotate again",
        ) from error


def renamed_log(file: Path, old: Path) -> None:
    """Rename a log and make an empty one with the same owner.

    A server that may not make files would otherwise switch its log off. Raises `InvalidInput` for a link, a pipe or a
    device.
    """
    was = file.lstat()
    if not stat.S_ISREG(was.st_mode):
        raise _no_file(str(file))
    # Never setuid or sticky bits, which a log has no use for.
    mode = was.st_mode & 0o777
    file.rename(old)
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    except FileExistsError:
        return
    try:
        with suppress(PermissionError):
            os.fchown(descriptor, was.st_uid, was.st_gid)
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _check_can_rename(log: LogFile | None, named: str, stamp: str) -> None:
    if log is None:
        raise InvalidInput(
            f"{named} is not on this machine, or not to be seen by this account",
            "run it on the server's machine as root, or rename it yourself and say --renamed",
        )
    if not log.here.is_file() or log.here.is_symlink():
        raise _no_file(named)
    if log.here.with_name(f"{log.here.name}-{stamp}").exists():
        raise InvalidInput(f"{named}-{stamp} is there already", "wait a second")


def _no_file(named: str) -> InvalidInput:
    return InvalidInput(f"{named} is no file", "a log that is a link, a pipe or a device is not rotated")


def logrotate_configuration(server: UserServer, command: str) -> str:
    """Return a configuration for logrotate that rotates a server's slow query log by `command`. Raises `LabError`."""
    variables = server.variables()
    named = absolute_name(file_of(variables), variables.get("datadir", "/"))
    log = log_on_this_machine(server, named)
    owner = of_folder = ("mysql", "mysql")
    if log is not None and log.here.is_file():
        owner = _owner(log.here)
        # As whoever may rename there; the log's own group, which it may give away, where that is one and the same.
        parent = _owner(log.here.parent)
        of_folder = owner if parent[0] == owner[0] else parent
    return _CONFIGURATION.format(file=named, owner=" ".join(owner), of_folder=" ".join(of_folder), command=command)


def _owner(path: Path) -> tuple[str, str]:
    try:
        return path.owner(), path.group()
    except KeyError:
        found = path.stat()
        return str(found.st_uid), str(found.st_gid)


_CONFIGURATION = """\
# Never copytruncate: it loses what is written meanwhile. Never kill -HUP: it flushes tables as well.
# The files hold every literal of every statement: keep no more of them than you need.
"{file}" {{
    size 1G
    rotate 14
    dateext
    dateformat -%Y%m%d%H%M%S
    missingok
    notifempty
    compress
    delaycompress
    create 660 {owner}
    su {of_folder}
    postrotate
        {command}
    endscript
}}
"""
