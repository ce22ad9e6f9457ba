"""Binary logs of an instance: written by the server itself, looked at on the disk, and removed in either way."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pymysql.connections import Connection
from pymysql.cursors import Cursor

from redolab.clock import now
from redolab.errors import LabError
from redolab.machine import processes
from redolab.machine.files import names
from redolab.machine.page_cache import drop_page_cache
from redolab.machine.processes import Command
from redolab.units import GIB, KIB, MIB
from redolab.workloads.data import DATABASE

from .experiment import PreparedFiles

_TABLE = f"{DATABASE}.filler"
_STATEMENT = 256 * KIB
"""Bytes that one statement adds to the binary log."""
_SYNCED = MIB
"""Bytes written between two syncs while files are made."""
_BLOCK = 4096
"""max_binlog_size is a multiple of it."""
_A_DAY = 86_400
_EXPIRED_DAYS = 10
_LOOK_EVERY = 0.002
_TRY_EVERY = 0.02
_PATIENCE = 300.0
"""Seconds that a purge may take."""
_SOMETIMES = 500
_TO_REMOVE = ".~rec~"
"""Suffix of the server's list of files that it is about to make or to purge."""
_EXTENTS = re.compile(r": (\d+) extents? found")

FILLER = (
    f"CREATE TABLE {_TABLE} (id INT NOT NULL PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB",
    f"INSERT INTO {_TABLE} VALUES (1, 0)",
)
"""Statements that make the table whose updates fill the binary logs."""

_FILLING = [f"UPDATE {_TABLE} SET n = {value} /* {'x' * _STATEMENT} */ WHERE id = 1" for value in range(2)]
"""Statements that take turns, so that each changes its row; the comment, quick to parse, goes into the log."""


@dataclass(frozen=True, slots=True)
class RemovalMoments:
    """Beginning and end of a purge, in seconds of the monotonic clock."""

    began: float
    ended: float


class BinaryLogs:
    """The binary logs of an instance that nobody else removes any of; `data` is its data directory."""

    def __init__(self, connection: Connection, data: Path) -> None:
        self._connection = connection
        self._data = data

    def write(self, file_size: int, count: int, follow: Callable[[int], None]) -> tuple[list[Path], float]:
        """Make `count` full files, an empty one after them and none before. Return the full files and the seconds.

        The server writes them, statement by statement, and syncs after each MiB. `follow` is told the bytes written
        so far.
        """
        with self._connection.cursor() as cursor:
            cursor.execute("SET SESSION binlog_format = 'STATEMENT'")
            durable = {name: _value(cursor, name) for name in ("sync_binlog", "innodb_flush_log_at_trx_commit")}
            self._begin_anew(cursor)
            _set(cursor, {"sync_binlog": _SYNCED // _STATEMENT, "innodb_flush_log_at_trx_commit": 2})
            _set(cursor, {"max_binlog_size": file_size})
            began, number = now().monotonic, 0
            while len(there := self._there()) <= count:
                number += 1
                cursor.execute(_FILLING[number % 2])
                follow(number * _STATEMENT)
            seconds = now().monotonic - began
            # All later writes go into one file.
            _set(cursor, {"max_binlog_size": GIB, **durable})
        return [self._data / name for name in there[:-1]], seconds

    def purge(self, files: Sequence[Path]) -> RemovalMoments:
        """Purge these files by PURGE BINARY LOGS. Return the times of the statement and its answer.

        Raises `LabError` if a file is still there.
        """
        with self._connection.cursor() as cursor:
            first_kept = self._there()[-1]
            began = now().monotonic
            cursor.execute(f"PURGE BINARY LOGS TO '{first_kept}'")
            ended = now().monotonic
        if any(file.exists() for file in files):
            raise LabError(f"the server has kept {files[-1].name}, which it was to remove", "its error log may say why")
        return RemovalMoments(began, ended)

    def expire(self, files: Sequence[Path]) -> None:
        """Make these files old enough for the server to remove them at its next rotation."""
        with self._connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL VARIABLES")
            known = {str(name): str(value) for name, value in cursor.fetchall()}
            # Before they are old: MariaDB 11.8 removes what has expired also when one of these is set.
            _set(cursor, expiry(known))
        written = time.time() - _EXPIRED_DAYS * _A_DAY
        for file in files:
            os.utime(file, (written, written))

    def rotate(self, files: Sequence[Path], look: Callable[[], None]) -> RemovalMoments:
        """Make the next commit rotate the binary log, and wait until the server has purged the expired `files`.

        The purge begins with the file that the server rotates to, and ends when the server's list of files to purge
        is gone, too. `look` is called every now and then. Raises `LabError` if the purge takes minutes.
        """
        active = self._data / self._there()[-1]
        following = active.with_name(f"{active.stem}.{int(active.suffix[1:]) + 1:06}")
        size = max(_BLOCK, active.stat().st_size // _BLOCK * _BLOCK)
        with self._connection.cursor() as cursor:
            _set(cursor, {"max_binlog_size": size})
            self._wait(following.exists, look)
            began = now().monotonic
            self._wait(lambda: not self._is_removing(files), look)
            ended = now().monotonic
            _set(cursor, {"max_binlog_size": GIB})
        return RemovalMoments(began, ended)

    def _begin_anew(self, cursor: Cursor) -> None:
        """Reduce the binary logs to one empty file."""
        cursor.execute("FLUSH BINARY LOGS")
        newest, deadline = self._there()[-1], now().monotonic + _PATIENCE
        while True:
            cursor.execute(f"PURGE BINARY LOGS TO '{newest}'")
            if self._there() == [newest]:
                return
            if now().monotonic > deadline:
                raise LabError("the server keeps binary logs from before", "its error log may say why")
            # MariaDB keeps the previous file until InnoDB has synced its commits; a further commit makes it request
            # that sync.
            cursor.execute(f"UPDATE {_TABLE} SET n = n + 1 WHERE id = 1")
            time.sleep(_TRY_EVERY)

    def _is_removing(self, files: Sequence[Path]) -> bool:
        there = set(names(self._data))
        return any(file.name in there or file.name.partition(".")[0] + _TO_REMOVE in there for file in files)

    def _wait(self, done: Callable[[], bool], look: Callable[[], None]) -> None:
        deadline, looked = now().monotonic + _PATIENCE, 0
        while not done():
            looked += 1
            if looked % _SOMETIMES == 0:
                look()
            if now().monotonic > deadline:
                raise LabError(
                    f"after {_PATIENCE:.0f} s the server has not removed the expired binary logs",
                    "its error log may say why",
                )
            time.sleep(_LOOK_EVERY)

    def _there(self) -> list[str]:
        """Return the names of all files in order, from the directory: the server would lock its binary log."""
        return sorted(name for name in names(self._data) if re.fullmatch(r"binlog\.\d{6,}", name))


def expiry(known: Mapping[str, str]) -> dict[str, int]:
    """Return the variables with which such a server purges, at a rotation, files older than a day."""
    by_seconds = "binlog_expire_logs_seconds" in known
    expires = {"binlog_expire_logs_seconds": _A_DAY} if by_seconds else {"expire_logs_days": 1}
    # A MariaDB that has it keeps all as long as fewer replicas than this are connected.
    needed = "slave_connections_needed_for_purge"
    return {**expires, **({needed: 0} if needed in known else {})}


def forget(files: Sequence[Path]) -> None:
    """Drop these files from the page cache; as root, their block lists, too."""
    if drop_page_cache():
        return
    for file in files:
        with suppress(OSError):
            descriptor = os.open(file, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def prepared(files: Sequence[Path], seconds: float) -> PreparedFiles:
    """Return size, extents and cached bytes of these files."""
    extents = [_extents(file) for file in files]
    return PreparedFiles(
        bytes=tuple(file.stat().st_size for file in files),
        extents=None if None in extents else tuple(each for each in extents if each is not None),
        cached_bytes=_cached(files),
        seconds=seconds,
    )


def extents_in(said: str) -> int | None:
    """Return the number of extents in filefrag's output; None if it has none."""
    match = _EXTENTS.search(said)
    return None if match is None else int(match[1])


def _extents(file: Path) -> int | None:
    program = processes.which("filefrag")
    return None if program is None else extents_in(processes.run(Command([str(program), str(file)]), check=False).out)


def _cached(files: Sequence[Path]) -> int | None:
    program = processes.which("fincore")
    if program is None:
        return None
    ask = [str(program), "--bytes", "--noheadings", "--output=RES", *map(str, files)]
    said = processes.run(Command(ask), check=False)
    return sum(map(int, said.out.split())) if said.status == 0 else None


def _value(cursor: Cursor, name: str) -> int:
    cursor.execute(f"SELECT @@GLOBAL.{name}")
    row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def _set(cursor: Cursor, values: Mapping[str, int]) -> None:
    for name, value in values.items():
        cursor.execute(f"SET GLOBAL {name} = {value}")
