"""Rotation of a slow query log while the server runs: rename it, then reopen it. Logging is paused only if asked.

A log is never truncated, because that blocks its writers. Nothing is removed, and no signal is sent: SIGHUP flushes
tables as well (P. Boros; data/published/query-logs.toml).
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from redolab.errors import Interrupted, InvalidInput, LabError
from redolab.machine import interrupts
from redolab.progress import Progress
from redolab.servers.address import Address
from redolab.slowlog.log_file import LogFile, absolute_path, log_on_this_machine
from redolab.slowlog.settings.alone import user_server_alone
from redolab.slowlog.settings.changes import changes_to_be_quiet, file_of, writes_a_file
from redolab.slowlog.settings.changing import TemporaryChanges, put_back_after, stamp_now, while_changed
from redolab.slowlog.settings.restoring import Messages
from redolab.slowlog.settings.user_server import UserServer

_TO_ROTATE = 30.0
"""Seconds that the rename and the flush may take before the watchdog acts."""


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
    messages = Messages(say, progress.note)
    with user_server_alone(address, progress) as (server, lock):
        return _rotated(server, messages, lock, wait, renamed)


def _rotated(server: UserServer, messages: Messages, lock: int, wait: float, renamed: bool) -> Rotated:
    variables = server.variables()
    if not writes_a_file(variables):
        raise InvalidInput(
            f"{server.address} writes no slow query log into a file: there is nothing to rotate",
            "see slow_query_log and log_output",
        )
    stamp = stamp_now()
    server_path = absolute_path(file_of(variables), variables)
    old = f"{server_path}-{stamp}"
    log = log_on_this_machine(server, server_path)
    if not renamed:
        _check_can_rename(log, server_path, stamp)
    server.check_privileges(sets_variables=wait > 0)
    size = log.size if log is not None and not renamed else 0
    # The first sync may take long. Before the pause and the rename, an interrupt still leaves everything as it was.
    if log is not None:
        messages.say(f"syncing {server_path}")
        log.sync()
    if not wait:
        with interrupts.held():
            _reopen(server, messages, log, stamp, renamed=renamed)
        return Rotated(server_path, None if renamed else old, size)
    temporary = TemporaryChanges("rotate", changes_to_be_quiet(variables), 2 * wait + _TO_ROTATE, stamp)
    done = ""
    try:
        with while_changed(server, temporary, lock, messages):
            time.sleep(wait)
            with interrupts.held():
                done = "" if renamed else f"; what was in the log is in {old}"
                _reopen(server, messages, log, stamp, renamed=renamed)
            time.sleep(wait)
    except Interrupted as stop:
        raise put_back_after(stop, done) from stop
    return Rotated(server_path, None if renamed else old, size)


def _reopen(server: UserServer, messages: Messages, log: LogFile | None, stamp: str, *, renamed: bool) -> None:
    """Rename the log, unless it is renamed already, and make the server open a new one. Raises `LabError`.

    MySQL 8.0 and later does not reopen the file while log_output is NONE (sql_reload.cc). After a pause, the flush
    that follows the restored variables does it.
    """
    if log is not None:
        if not renamed:
            messages.say(f"renaming {log.server_path} to {log.server_path}-{stamp}")
            rename_log(log.path, log.path.with_name(f"{log.path.name}-{stamp}"))
        # The server syncs the file that it closes while all writers wait: leave it little to sync.
        log.sync()
    messages.say("flushing the slow query log")
    try:
        server.flush()
    except LabError as error:
        raise LabError(
            f"the log is renamed, and the server may still write to the old one ({error.problem})",
            "run FLUSH LOCAL SLOW LOGS, or rotate again",
        ) from error


def rename_log(file: Path, old: Path) -> None:
    """Rename a log and make an empty one with the same owner.

    A server that may not make files would otherwise switch its log off. Raises `InvalidInput` for a link, a pipe or a
    device; `OSError`, with the log under its name as before, if no file can be made.
    """
    status = file.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise _no_file(str(file))
    # Never setuid or sticky bits, which a log has no use for.
    mode = status.st_mode & 0o777
    file.rename(old)
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    except FileExistsError:
        return
    except OSError:
        # The server still writes to it.
        old.rename(file)
        raise
    try:
        with suppress(PermissionError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def _check_can_rename(log: LogFile | None, server_path: str, stamp: str) -> None:
    if log is None:
        raise InvalidInput(
            f"{server_path} is not on this machine, or not to be seen by this account",
            "run it on the server's machine as root, or rename it yourself and say --renamed",
        )
    if not log.path.is_file() or log.path.is_symlink():
        raise _no_file(server_path)
    if log.path.with_name(f"{log.path.name}-{stamp}").exists():
        raise InvalidInput(f"{server_path}-{stamp} is there already", "wait a second")


def _no_file(server_path: str) -> InvalidInput:
    return InvalidInput(f"{server_path} is no file", "a log that is a link, a pipe or a device is not rotated")


def logrotate_configuration(server: UserServer, command: str) -> str:
    """Return a configuration for logrotate that rotates a server's slow query log by `command`. Raises `LabError`."""
    variables = server.variables()
    server_path = absolute_path(file_of(variables), variables)
    log = log_on_this_machine(server, server_path)
    owner = folder_owner = ("mysql", "mysql")
    if log is not None and log.path.is_file():
        owner = _owner(log.path)
        # logrotate has to be an account that may rename files in the folder. If that account owns the log too, take
        # the log's group, which the account can give to the new file.
        parent = _owner(log.path.parent)
        folder_owner = owner if parent[0] == owner[0] else parent
    return _CONFIGURATION.format(
        file=server_path, owner=" ".join(owner), folder_owner=" ".join(folder_owner), command=command
    )


def _owner(path: Path) -> tuple[str, str]:
    try:
        return path.owner(), path.group()
    except KeyError:
        status = path.stat()
        return str(status.st_uid), str(status.st_gid)


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
    su {folder_owner}
    postrotate
        {command}
    endscript
}}
"""
