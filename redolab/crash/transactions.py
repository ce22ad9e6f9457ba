"""Preparation of a loaded server before its crash: an open transaction, prepared ones, a dump of the buffer pool."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from pymysql.connections import Connection

from redolab.clock import now
from redolab.crash.records.dataset import OPEN_TRANSACTION_TABLE
from redolab.errors import LabError
from redolab.progress import Stage
from redolab.servers.instance import Instance
from redolab.workloads.data import DATABASE

_PREPARED_TABLE = f"{DATABASE}.prepared"
_SOMETIMES = 100
_PREPARING = 32
"""Connections at once: fewer than any server allows."""
_DUMPED = "dump completed"
_LONGEST_DUMP = 120.0
_OFTEN = 0.01


def open_transaction(instance: Instance, rows: int, stage: Stage) -> Connection:
    """Return a connection with an open transaction that has changed `rows` rows."""
    connection = instance.connections.connect()
    if rows:
        stage.say(f"changing {rows} rows in a transaction that stays open")
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"UPDATE {OPEN_TRANSACTION_TABLE} SET changed = 1, filler = REPEAT('x', 100)")
    return connection


def prepare_transactions(instance: Instance, count: int, stage: Stage) -> None:
    """Leave `count` prepared XA transactions, each from a connection that closes without ending it."""
    if not count:
        return
    with instance.connections.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {_PREPARED_TABLE} (id INT NOT NULL PRIMARY KEY) ENGINE=InnoDB")

    def prepare(number: int) -> None:
        with instance.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"XA START '{number}'")
            cursor.execute(f"INSERT INTO {_PREPARED_TABLE} VALUES ({number})")
            cursor.execute(f"XA END '{number}'")
            cursor.execute(f"XA PREPARE '{number}'")

    # Many at once share the flushes of the log, on which each would wait alone.
    pool = ThreadPoolExecutor(max_workers=_PREPARING)
    try:
        for number, _ in enumerate(pool.map(prepare, range(1, count + 1)), start=1):
            if number % _SOMETIMES == 0:
                stage.say(f"preparing {number:,} of {count:,} XA transactions")
    finally:
        pool.shutdown(cancel_futures=True)


def dump_pool(control: Connection, stage: Stage) -> None:
    """Make the server write the list of its buffer pool's pages. Raises `LabError` if that takes too long."""
    stage.say("dumping the buffer pool")
    deadline = now().monotonic + _LONGEST_DUMP
    with control.cursor() as cursor:
        cursor.execute("SET GLOBAL innodb_buffer_pool_dump_now = ON")
        while now().monotonic < deadline:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_dump_status'")
            row = cursor.fetchone()
            if row is not None and _DUMPED in str(row[1]):
                return
            time.sleep(_OFTEN)
    raise LabError(f"the buffer pool was not dumped within {_LONGEST_DUMP:.0f} s", "POOLDUMP=off does without")
