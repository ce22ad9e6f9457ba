"""A rotation of a slow query log carried out, in one of the ways that are compared, with the time of each part."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pymysql.connections import Connection

from redolab.errors import LabError
from redolab.querylogs.rotation import WAIT
from redolab.querylogs.settings.changes import Change, changes_to_be_quiet
from redolab.servers.instance import Instance

from .methods import AGAIN, Method

_FLUSH = "FLUSH LOCAL SLOW LOGS"
_BLOCK = 8192
"""Bytes that logrotate copies at a time."""
_TO_REOPEN = 30.0
_TO_REOPEN_HELD = 0.5
"""Some servers open none while logging is held, and it is not to be held much longer for that."""
_LOOK = 0.001


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a rotation; times in nanoseconds of CLOCK_MONOTONIC."""

    name: str
    began: int
    ended: int


@dataclass(slots=True)
class Rotation:
    """What was done, and what it left."""

    log: Path
    parts: list[Part] = field(default_factory=list)
    old: Path | None = None
    """What was in the log is there; None where it was removed."""
    opened: int = 0
    """When the new log was open."""
    held: tuple[int, int] | None = None
    """From when until when logging was held."""
    patience: float = _TO_REOPEN
    """Seconds for which a new log is waited for after a signal."""

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """While in it: a part of that name is done."""
        began = _now()
        yield
        self.parts.append(Part(name, began, _now()))


def rotate(method: Method, instance: Instance, connection: Connection, log: Path, *, held: bool) -> Rotation:
    """Rotate the log of an instance, with its logging held meanwhile if it is to be. Raises `LabError`."""
    rotation = Rotation(log)
    if not held:
        _HOW[method](rotation, instance, connection)
        _check_open(rotation, instance)
        rotation.opened = _now()
        return rotation
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
    if not log.exists():
        # MySQL 9.7 opens no new log while log_output is NONE, and goes on in the old one.
        rotation.patience = _TO_REOPEN
        _open_again(method, rotation, instance, connection)
    _check_open(rotation, instance)
    rotation.opened = _now()
    return rotation


def _open_again(method: Method, rotation: Rotation, instance: Instance, connection: Connection) -> None:
    if method is Method.RENAME_HUP:
        _hang_up(rotation, instance, AGAIN)
    else:
        _flush(rotation, connection, AGAIN)


def _check_open(rotation: Rotation, instance: Instance) -> None:
    if not rotation.log.exists():
        instance.check_running()
        raise LabError(f"{instance.server.name} has opened no new log", "its error log may say why")


def _restore(rotation: Rotation, connection: Connection, changes: Sequence[Change]) -> None:
    with rotation.part("releasing"):
        _do(connection, [change.to_undo for change in reversed(changes)])


def _copytruncate(rotation: Rotation, instance: Instance, connection: Connection) -> None:
    rotation.old = _old(rotation.log)
    log = os.open(rotation.log, os.O_RDWR)
    try:
        copy = os.open(rotation.old, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with rotation.part("copy"):
                while block := os.read(log, _BLOCK):
                    os.write(copy, block)
            with rotation.part("sync"):
                os.fsync(copy)
            with rotation.part("truncate"):
                os.ftruncate(log, 0)
        finally:
            os.close(copy)
    finally:
        os.close(log)


def _rename_flush(rotation: Rotation, instance: Instance, connection: Connection) -> None:
    _rename(rotation)
    _flush(rotation, connection)


def _rename_sync_flush(rotation: Rotation, instance: Instance, connection: Connection) -> None:
    old = _rename(rotation)
    with rotation.part("sync"):
        descriptor = os.open(old, os.O_RDONLY)
        try:
            # The first may take long; what is written meanwhile is little, and the second is short.
            for _ in range(2):
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
    _flush(rotation, connection)


def _rename_hup(rotation: Rotation, instance: Instance, connection: Connection) -> None:
    _rename(rotation)
    _hang_up(rotation, instance)


def _rm_flush(rotation: Rotation, instance: Instance, connection: Connection) -> None:
    with rotation.part("rm"):
        rotation.log.unlink()
    _flush(rotation, connection)


_HOW: Mapping[Method, Callable[[Rotation, Instance, Connection], None]] = {
    Method.COPYTRUNCATE: _copytruncate,
    Method.RENAME_FLUSH: _rename_flush,
    Method.RENAME_SYNC_FLUSH: _rename_sync_flush,
    Method.RENAME_HUP: _rename_hup,
    Method.RM_FLUSH: _rm_flush,
}


def open_anew(connection: Connection) -> None:
    """Have the server open its slow query log anew."""
    _do(connection, [_FLUSH])


def _rename(rotation: Rotation) -> Path:
    rotation.old = _old(rotation.log)
    with rotation.part("rename"):
        rotation.log.rename(rotation.old)
    return rotation.old


def _flush(rotation: Rotation, connection: Connection, again: str = "") -> None:
    with rotation.part(f"flush{again}"):
        open_anew(connection)


def _hang_up(rotation: Rotation, instance: Instance, again: str = "") -> None:
    """SIGHUP, until there is a new log, or it seems that there will be none."""
    with rotation.part(f"SIGHUP{again}"):
        instance.hang_up()
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
