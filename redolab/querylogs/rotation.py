"""Rotating a slow query log while the server runs: renamed, then opened anew, with logging quiet meanwhile.

A log is never truncated (that blocks its writers), nothing is removed, and no signal is sent (SIGHUP flushes tables as well):
data/published/query-logs.toml has the source.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from redolab.errors import Interrupted, InvalidInput
from redolab.machine.interrupts import unwinding
from redolab.progress import Progress
from redolab.querylogs.log_file import LogFile, absolute_name, log_on_this_machine
from redolab.querylogs.settings.changes import changes_to_be_quiet, file_of, is_on
from redolab.querylogs.settings.changing import TemporaryChanges, changed, stamp_now
from redolab.querylogs.settings.checks import check_privileges
from redolab.querylogs.settings.server import UserServer
from redolab.servers.address import Address

WAIT = 2.0
"""Seconds of quiet before and after, as the source has them."""
_TO_ROTATE = 30.0


@dataclass(frozen=True, slots=True)
class Rotated:
    """What a rotation has left."""

    file: str
    """As the server names it."""
    old: str | None
    """What was in it is there; None where somebody else has renamed it."""
    size: int
    """Bytes of the old one."""


def rotate(
    progress: Progress, address: Address, say: Callable[[str], None], *, wait: float = WAIT, renamed: bool = False
) -> Rotated:
    """Rotate a server's slow query log; with `renamed` somebody else, as logrotate, has renamed it. Raises `LabError`."""
    with unwinding():
        server = UserServer(address)
        server.telling(progress.note)
        try:
            return _rotated(server, say, wait, renamed)
        finally:
            server.close()


def _rotated(server: UserServer, say: Callable[[str], None], wait: float, renamed: bool) -> Rotated:
    variables = server.variables()
    if not is_on(variables):
        raise InvalidInput(
            f"{server.address} writes no slow query log", "slow_query_log is OFF: there is nothing to rotate"
        )
    named = absolute_name(file_of(variables), variables.get("datadir", "/"))
    log = log_on_this_machine(server, named)
    stamp = stamp_now()
    if not renamed:
        _check_can_rename(log, named)
    check_privileges(server, list(variables))
    old, size = None, 0
    temporary = TemporaryChanges("rotate", changes_to_be_quiet(variables), 2 * wait + _TO_ROTATE, stamp)
    try:
        with changed(server, temporary, say):
            time.sleep(wait)
            if not renamed and log is not None:
                new = log.here.with_name(f"{log.here.name}-{stamp}")
                size = log.size
                say(f"renaming {log.here.name} to {new.name}")
                log.here.rename(new)
                old = f"{named}-{stamp}"
            say("flushing the slow query log")
            server.flush()
            time.sleep(wait)
    except Interrupted as stop:
        by = str(stop).partition(":")[0]
        renamed_so_far = f"; {old} has what was in the log" if old else ""
        raise Interrupted(f"{by}: everything is put back{renamed_so_far}") from stop
    return Rotated(named, old, size)


def _check_can_rename(log: LogFile | None, named: str) -> None:
    if log is None:
        raise InvalidInput(
            f"{named} is not on this machine, or not to be seen by this account",
            "run it on the server's machine as root, or rename it yourself and say --renamed",
        )
    if not log.here.is_file() or log.here.is_symlink():
        raise InvalidInput(f"{named} is no file", "a log that is a link or a pipe is not rotated")


def logrotate_configuration(server: UserServer, command: str) -> str:
    """A configuration for logrotate that rotates a server's slow query log by `command`. Raises `LabError`."""
    variables = server.variables()
    named = absolute_name(file_of(variables), variables.get("datadir", "/"))
    log = log_on_this_machine(server, named)
    owner, group = _owner(log.here) if log is not None and log.here.is_file() else ("mysql", "mysql")
    return _CONFIGURATION.format(file=named, owner=owner, group=group, command=command)


def _owner(path: Path) -> tuple[str, str]:
    try:
        return path.owner(), path.group()
    except KeyError:
        found = path.stat()
        return str(found.st_uid), str(found.st_gid)


_CONFIGURATION = """\
# Never copytruncate: truncating blocks whoever writes to the log. Never kill -HUP: it flushes tables as well.
"{file}" {{
    size 1G
    rotate 150
    dateext
    dateformat -%Y%m%d%H%M%S
    missingok
    notifempty
    nocompress
    create 660 {owner} {group}
    su {owner} {group}
    postrotate
        {command}
    endscript
}}
"""
