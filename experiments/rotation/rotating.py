"""Rotation of a slow query log by one of the compared methods, with the time of each part."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pymysql.connections import Connection

from redolab.errors import LabError
from redolab.machine import processes
from redolab.machine.processes import Command
from redolab.querylogs.settings.changes import Change, changes_to_be_quiet
from redolab.servers.dialects import SOCKET
from redolab.servers.instance import Instance

from .methods import AGAIN, Method

WAIT = 2.0
"""Seconds for which logging is paused before and after, as P. Boros does (data/published/query-logs.toml)."""
_FLUSH = "FLUSH LOCAL SLOW LOGS"
_BLOCK = 8192
"""Bytes that logrotate copies at a time."""
_TO_REOPEN = 30.0
_TO_REOPEN_HELD = 0.5
"""Seconds for a new log while logging is paused. Some servers open none then, and the pause must stay short."""
_TO_WRITE = 2.0
_LOOK = 0.001


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a rotation; times in nanoseconds of CLOCK_MONOTONIC."""

    name: str
    began: int
    ended: int


@dataclass(slots=True)
class Rotated:
    """Record of a rotation."""

    log: Path
    parts: list[Part] = field(default_factory=list)
    old: Path | None = None
    """Path of the old log; None if it was removed."""
    opened: int = 0
    """Time at which the new log was open, in nanoseconds of CLOCK_MONOTONIC."""
    held: tuple[int, int] | None = None
    """Beginning and end of the pause of logging, in nanoseconds of CLOCK_MONOTONIC; None without a pause."""
    patience: float = _TO_REOPEN
    """Seconds to wait for a new log after a signal."""

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Record the block as a part of the rotation."""
        began = _now()
        yield
        self.parts.append(Part(name, began, _now()))


def rotate(
    method: Method, instance: Instance, connection: Connection, log: Path, *, held: bool, scratch: Path
) -> Rotated:
    """Rotate the log of an instance; with `held`, logging is paused meanwhile. Raises `LabError`.

    The product's own command leaves its notes in the folder `scratch`.
    """
    rotation = Rotated(log)
    if method is Method.RENAME_SYNC_FLUSH:
        _by_command(rotation, instance, WAIT if held else 0.0, scratch)
    elif held:
        _rotate_held(method, rotation, instance, connection)
    else:
        _HOW[method](rotation, instance, connection)
    _check_open(rotation, instance)
    rotation.opened = _now()
    return rotation


def _by_command(rotation: Rotated, instance: Instance, wait: float, scratch: Path) -> None:
    """Rotate by `redolab slowlog rotate`, as its user does: the log is paused for `wait` seconds before and after."""
    command = [sys.executable, "-m", "redolab", "slowlog", "rotate", "--wait", f"{wait}s"]
    command += ["--socket", str(instance.folder / SOCKET), "--user", "root"]
    began = _now()
    with rotation.part("command"):
        processes.run(Command(command, environment={"XDG_STATE_HOME": str(scratch)}))
    if wait:
        rotation.held = (began, _now())
    (rotation.old,) = rotation.log.parent.glob(f"{rotation.log.name}-*")


def _rotate_held(method: Method, rotation: Rotated, instance: Instance, connection: Connection) -> None:
    changes = changes_to_be_quiet(_variables(connection))
    rotation.patience = _TO_REOPEN_HELD
    began = _now()
    try:
        with rotation.part("holding"):
            _do(connection, [change.to_do for change in changes])
        with rotation.part("waiting"):
            time.sleep(WAIT)
        _HOW[method](rotation, instance, connection)
        with rotation.part("waiting after"):
            time.sleep(WAIT)
    finally:
        _restore(rotation, connection, changes)
        rotation.held = (began, _now())
    if not rotation.log.exists():
        # MySQL 9.7 opens no new log while log_output is NONE, and goes on in the old one.
        rotation.patience = _TO_REOPEN
        _open_again(method, rotation, instance, connection)


def _open_again(method: Method, rotation: Rotated, instance: Instance, connection: Connection) -> None:
    if number := _SIGNALS.get(method):
        _signal(rotation, instance, number, AGAIN)
    else:
        _flush(rotation, connection, AGAIN)


def _check_open(rotation: Rotated, instance: Instance) -> None:
    """Wait until the server has written to the new log. Raises `LabError`."""
    deadline = time.monotonic() + _TO_WRITE
    while not (rotation.log.exists() and rotation.log.stat().st_size):
        if time.monotonic() > deadline:
            instance.check_running()
            raise LabError(f"{instance.server.name} writes to no new log", "its error log may say why")
        time.sleep(_LOOK)


def _restore(rotation: Rotated, connection: Connection, changes: Sequence[Change]) -> None:
    with rotation.part("releasing"):
        _do(connection, [change.to_undo for change in reversed(changes)])


def _copytruncate(rotation: Rotated, instance: Instance, connection: Connection) -> None:
    rotation.old = _old(rotation.log)
    copied_and_truncated(rotation, rotation.log, rotation.old)


def copied_and_truncated(rotation: Rotated, log: Path, old: Path) -> None:
    """Copy a log and truncate it, as logrotate does. Raises `OSError`, and leaves the log alone, if the copy fails."""
    made = os.open(old, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(made, "wb") as copy, log.open("r+b", buffering=0) as source:
        with rotation.part("copy"):
            while block := source.read(_BLOCK):
                copy.write(block)
            copy.flush()
        with rotation.part("sync"):
            os.fsync(copy.fileno())
        with rotation.part("truncate"):
            os.ftruncate(source.fileno(), 0)


def _rename_flush(rotation: Rotated, instance: Instance, connection: Connection) -> None:
    _rename(rotation)
    _flush(rotation, connection)


def _rename_signal(rotation: Rotated, instance: Instance, connection: Connection, *, number: signal.Signals) -> None:
    _rename(rotation)
    _signal(rotation, instance, number)


def _rm_flush(rotation: Rotated, instance: Instance, connection: Connection) -> None:
    with rotation.part("rm"):
        rotation.log.unlink()
    _flush(rotation, connection)


_SIGNALS: Mapping[Method, signal.Signals] = {
    Method.RENAME_HUP: signal.SIGHUP,
    Method.RENAME_USR1: signal.SIGUSR1,
}
_HOW: Mapping[Method, Callable[[Rotated, Instance, Connection], None]] = {
    Method.COPYTRUNCATE: _copytruncate,
    Method.RENAME_FLUSH: _rename_flush,
    **{method: partial(_rename_signal, number=number) for method, number in _SIGNALS.items()},
    Method.RM_FLUSH: _rm_flush,
}


def open_anew(connection: Connection) -> None:
    """Make the server reopen its slow query log."""
    _do(connection, [_FLUSH])


def _rename(rotation: Rotated) -> None:
    rotation.old = _old(rotation.log)
    with rotation.part("rename"):
        rotation.log.rename(rotation.old)


def _flush(rotation: Rotated, connection: Connection, again: str = "") -> None:
    with rotation.part(f"flush{again}"):
        open_anew(connection)


def _signal(rotation: Rotated, instance: Instance, number: signal.Signals, again: str = "") -> None:
    """Send a signal, and wait until there is a new log, or it seems that there will be none."""
    with rotation.part(f"{number.name}{again}"):
        instance.send_signal(number)
        deadline = time.monotonic() + rotation.patience
        while not rotation.log.exists() and time.monotonic() < deadline:
            time.sleep(_LOOK)


def _old(log: Path) -> Path:
    return log.with_name(f"{log.name}-old")


def _variables(connection: Connection) -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES")
        return {str(name).lower(): str(value) for name, value in cursor.fetchall()}


def _do(connection: Connection, statements: Sequence[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
