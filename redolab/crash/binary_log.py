"""Preparation of the binary log before a crash, and the size of its last file."""

from __future__ import annotations

import os
import struct
import threading
import time
from pathlib import Path

import pymysql
from pymysql.cursors import Cursor

from redolab.clock import now
from redolab.crash.records.binary_log_end import BINARY_LOG_TABLE, ROW, BinaryLogEnd, EndKind
from redolab.crash.records.dataset import OPEN_TRANSACTION_TABLE
from redolab.errors import LabError
from redolab.progress import Stage
from redolab.servers.instance import DATA, Instance
from redolab.units import format_size

_MAGIC = 4
"""Bytes before the first event."""
_HEADER = struct.Struct("<IBII6x")
_WITHIN = frozenset(
    (2, 5, 13, 14, 19, 23, 24, 25, 29, 30, 31, 32, 33, 34, 39, 160, 162, 165, 166, 167, 168, 169, 170, 171)
)
"""Types of events after which a transaction goes on: its GTID, BEGIN, tables and rows, of MySQL and MariaDB."""
_FILES = "binlog." + 6 * "[0-9]"
"""Names of the files; MariaDB from 11.4 on has an index of GTIDs beside each, `binlog.000001.idx`."""
_BEGUN = 64 * 1024
"""Bytes of a transaction after which its writing to the file has begun."""
_COMPRESSED, _UNCOMPRESSED = 0.5, 0.97
"""Shares of a whole transaction's bytes that are in the file before it can be whole."""
_LOOK_S = 0.0005
_LOOK_AT_LOAD_S = 0.05
_ROW_BY_ROW = {
    # MariaDB's default, MIXED, would log the statement that changes the rows, and not the rows.
    "session.binlog_format": "'ROW'",
    # MariaDB would log the statement beside its rows.
    "session.binlog_annotate_row_events": "OFF",
    # MariaDB from 11.7 on makes the cache of a larger transaction a file of its own, at once.
    "global.binlog_large_commit_threshold": str(2**63 - 1),
}
"""Settings by which a transaction goes to the last file row by row, where the server has them."""
_LONGEST = 3600.0


def last_file(data: Path) -> Path | None:
    """Return the last file of the binary log in a data directory; None without one."""
    return max(data.glob(_FILES), default=None)


def last_file_size(data: Path) -> int | None:
    """Return the bytes of the last file of the binary log in a data directory; None without one."""
    path = last_file(data)
    return None if path is None else path.stat().st_size


def ends_in_a_transaction(path: Path) -> bool:
    """Return True if a file of the binary log ends before the end of its last transaction.

    Raises `OSError`. Each event begins with a header of 19 bytes: time, type, server, length, position and flags (MySQL's
    documentation of the replication protocol, "Binary Log Event Header").
    """
    size, at, last = path.stat().st_size, _MAGIC, 0
    with path.open("rb") as file:
        while at + _HEADER.size <= size:
            file.seek(at)
            _, kind, _, length = _HEADER.unpack(file.read(_HEADER.size))
            if length < _HEADER.size or at + length > size:
                return True
            at, last = at + length, kind
    return at < size or last in _WITHIN


def end_binary_log(instance: Instance, end: BinaryLogEnd, stage: Stage) -> str:
    """Bring the binary log of a server under load to its end; return the reason why the crash is due at once.

    Raises `LabError` if the server was done before it could be crashed, or does not get there within an hour.
    """
    if end.kind in (EndKind.WHOLE, EndKind.CUT):
        return _stop_in_the_commit(instance, end, stage)
    with instance.connections.connect(answer=_LONGEST) as connection, connection.cursor() as cursor:
        if end.kind is EndKind.FILES:
            return _many_files(cursor, end.amount, stage)
        cursor.execute("FLUSH BINARY LOGS")
    return _wait_for_small(instance, end.amount, stage)


def _many_files(cursor: Cursor, count: int, stage: Stage) -> str:
    for number in range(1, count + 1):
        cursor.execute("FLUSH BINARY LOGS")
        if number % 100 == 0:
            stage.advance(number, count, f"{number:,} of {count:,} binary log files")
    return f"the binary log had {count:,} more files"


def _wait_for_small(instance: Instance, size: int, stage: Stage) -> str:
    path, deadline = _last_file(instance), now().monotonic + _LONGEST
    while (there := path.stat().st_size) < size:
        instance.check_running()
        if now().monotonic > deadline:
            raise LabError(f"the binary log grew to {format_size(there)} in an hour", "choose less, or more clients")
        stage.advance(there, size, f"{format_size(there)} of {format_size(size)} in the last binary log file")
        time.sleep(_LOOK_AT_LOAD_S)
    return f"the last binary log file had {format_size(there)}"


def _stop_in_the_commit(instance: Instance, end: BinaryLogEnd, stage: Stage) -> str:
    """Commit a transaction, and stop the server while it is being written to the file, or right after it was."""
    connection = instance.connections.connect(answer=_LONGEST)
    with connection.cursor() as cursor:
        _begin_transaction(cursor, end, stage)
        # Its rows are half random, so that compression saves half of them.
        share = _COMPRESSED if _compresses(cursor) else _UNCOMPRESSED
    stage.say("committing it")
    path = _last_file(instance)
    before, over = path.stat().st_size, threading.Event()
    # Each look stops the server: a whole one is looked at when it is nearly there.
    due = before + (int(end.amount * share) if end.kind is EndKind.WHOLE else _BEGUN)

    def commit() -> None:
        try:
            connection.commit()
            over.set()
        except pymysql.MySQLError:
            # The server is killed meanwhile.
            pass
        finally:
            # To close it in another thread would wait for the answer, which a stopped server does not give.
            connection.close()

    threading.Thread(target=commit, daemon=True).start()
    deadline = now().monotonic + _LONGEST
    while not over.is_set() and now().monotonic < deadline:
        if path.stat().st_size >= due:
            # A stopped server changes nothing until it is killed.
            instance.freeze()
            if ends_in_a_transaction(path) == (end.kind is EndKind.CUT):
                written = path.stat().st_size - before
                return f"{format_size(written)} of a transaction were in the last binary log file"
            instance.thaw()
            if end.kind is EndKind.CUT:
                break
        time.sleep(_LOOK_S)
    raise LabError(f"the transaction ({end}) was over before the server could be stopped", "take a larger one")


def _compresses(cursor: Cursor) -> bool:
    """Return True if the server compresses transactions in its binary log."""
    cursor.execute("SHOW VARIABLES LIKE 'binlog_transaction_compression'")
    row = cursor.fetchone()
    return row is not None and row[1] == "ON"


def _begin_transaction(cursor: Cursor, end: BinaryLogEnd, stage: Stage) -> None:
    """Change rows in a transaction that goes to the binary log's last file, row by row, when it is committed."""
    if end.kind is EndKind.WHOLE:
        cursor.execute(f"CREATE TABLE {BINARY_LOG_TABLE} (id INT PRIMARY KEY, filler LONGTEXT NOT NULL) ENGINE=InnoDB")
    for setting, value in _ROW_BY_ROW.items():
        if cursor.execute("SHOW VARIABLES LIKE %s", (setting.partition(".")[2],)):
            cursor.execute(f"SET @@{setting} = {value}")
    cursor.execute("FLUSH BINARY LOGS")
    cursor.execute("BEGIN")
    if end.kind is EndKind.CUT:
        stage.say(f"changing {end.amount:,} rows in one transaction")
        cursor.execute(f"UPDATE {OPEN_TRANSACTION_TABLE} SET changed = 1, filler = REPEAT('x', 100)")
        return
    for row in range(1, end.rows + 1):
        cursor.execute(f"INSERT INTO {BINARY_LOG_TABLE} VALUES (%s, %s)", (row, os.urandom(ROW // 2).hex()))
        stage.advance(row, end.rows, f"a transaction of {format_size(row * ROW)}")


def _last_file(instance: Instance) -> Path:
    path = last_file(instance.folder / DATA)
    assert path is not None, "a crash with an end of the binary log is of a server that has one"
    return path
