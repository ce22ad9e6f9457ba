"""Questions to a user's server about A: read-only, within a time limit, and only statements that `counting` allows.

Nothing on the server is changed. Settings apply to the connection alone. The session and every transaction are READ
ONLY where the version has that, and every transaction is rolled back.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

import msgspec
import pymysql
from pymysql.connections import Connection

from redolab.errors import LabError
from redolab.slowlog.candidates.counting import Countable, TableName

_OTHER_SYNTAX = frozenset({"ANSI_QUOTES", "HIGH_NOT_PRECEDENCE", "NO_BACKSLASH_ESCAPES", "ORACLE", "PIPES_AS_CONCAT"})
"""SQL modes in which a server reads a text as another statement than the parser does."""
_READS_WITHOUT_LOCKS = frozenset({"INNODB", "ROCKSDB", "TOKUDB"})
"""Engines whose SELECT blocks no writer; a long SELECT on any other engine does."""
_TIMED_OUT = frozenset({1028, 1205, 1317, 1969, 3024})
"""Error numbers of a statement that was ended, by its time limit, by KILL QUERY, or waiting for another's DDL."""
_SYNTAX = 1064
_NO_PRIVILEGE = frozenset({1227})
_NOT_THERE = frozenset({_SYNTAX, 1193})
"""Error numbers of versions that do not know TRANSACTION READ ONLY: MySQL 5.5 takes it for a variable."""
_COUNTS_ARE_LOGGED = (
    "What was counted without an index is in the server's slow log: log_queries_not_using_indexes is ON, and this user may not set "
    "min_examined_row_limit for its session."
)
_LOST = frozenset({0, 2006, 2013, 2055})
_LONGEST_QUERY_TIME = 31_536_000
_GRACE = 2.0
"""Seconds: how much later than the server's own limit KILL QUERY is sent, should that not have ended it."""
_CONST = frozenset({"const", "system"})
_OUTER = frozenset({"SIMPLE", "PRIMARY"})


class NotAnswered(Exception):
    """The server does not answer about a statement; the text says why."""


class TimedOut(NotAnswered):
    """The answer would have taken longer than allowed."""


@contextmanager
def asked_server(connect: Callable[[float], Connection], at_most: float) -> Iterator[AskedServer]:
    """Yield a server on two connections, by `connect` with a limit in seconds for answers; `at_most`: seconds a statement.

    Raises `pymysql.MySQLError`, and `LabError` if the two connections reach different servers.
    """
    with closing(connect(at_most + 4 * _GRACE)) as connection, closing(connect(4 * _GRACE)) as killer:
        yield AskedServer(connection, killer, at_most)


class AskedServer:
    """A server that is asked through one connection; a second one ends statements that take too long."""

    def __init__(self, connection: Connection, killer: Connection, at_most: float) -> None:
        self.note = ""
        """Remark for the reader on what the questions leave in the server's log."""
        self._connection, self._killer = connection, killer
        self._at_most = at_most
        self._limited = self._set_up()

    def plan(self, countable: Countable, database: str | None, *, of_count: bool = False) -> tuple[TableRead, ...]:
        """Return the plan by which the server would read the statement's tables, or with `of_count` count their rows.

        Raises `NotAnswered`.
        """
        statement = countable.counting if of_count else countable.statement
        with self._reading(countable, database):
            # Each version has one of these forms with the column `filtered`; 5.5 and 5.6 have the first form alone.
            for form in ("EXPLAIN EXTENDED", "EXPLAIN FORMAT=TRADITIONAL"):
                try:
                    return plan_of(*self._run(f"{form} {statement}"))
                except pymysql.MySQLError as error:
                    if _number(error) != _SYNTAX:
                        raise
            raise NotAnswered("the server does not explain it")

    def count(self, countable: Countable, database: str | None) -> int:
        """Count the rows that the statement joins. Raises `NotAnswered`, with its kind `TimedOut`."""
        with self._reading(countable, database):
            _, rows = self._run(countable.counting)
        return int(rows[0][0])

    @contextmanager
    def _reading(self, countable: Countable, database: str | None) -> Iterator[None]:
        """Hold a read-only transaction in that database for the block; turn errors of the server into `NotAnswered`."""
        try:
            if database:
                self._connection.select_db(database)
            elif any(table.database is None for table in countable.tables):
                raise NotAnswered("the log does not name its database")
            for table in countable.tables:
                self._check_table(table, database)
            self._run(self._begin)
            try:
                yield
            finally:
                with suppress(pymysql.MySQLError):
                    self._run("ROLLBACK")
        except pymysql.MySQLError as error:
            number = _number(error)
            if number in _LOST:
                raise LabError(f"the connection was lost ({error.args[-1]})", "ask again") from error
            if number in _TIMED_OUT:
                raise TimedOut(f"not done within {self._at_most:g} s") from None
            raise NotAnswered(str(error.args[-1])) from None

    def _run(self, statement: str) -> tuple[list[str], Sequence[Sequence[Any]]]:
        seconds = self._at_most + (_GRACE if self._limited else 0.0)
        with _killed_after(seconds, self._connection, self._killer) as killed, self._connection.cursor() as cursor:
            cursor.execute(statement)
            headings, rows = [each[0] for each in cursor.description or ()], cursor.fetchall()
        if killed.is_set():
            raise TimedOut(f"not done within {self._at_most:g} s")
        return headings, rows

    def _check_table(self, table: TableName, database: str | None) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(
                "SELECT TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
                (table.database or database, table.name),
            )
            row = cursor.fetchone()
        if row is None:
            raise NotAnswered(f"there is no table {table}, or not for this user")
        kind, engine = row
        if kind != "BASE TABLE":
            raise NotAnswered(f"{table} is no table but a {str(kind).lower()}, which may call functions")
        if str(engine).upper() not in _READS_WITHOUT_LOCKS:
            raise NotAnswered(f"{table} is {engine}: reading it locks it")

    def _set_up(self) -> bool:
        """Make the session read-only, limited, and absent from the slow log. Return True if the server limits time."""
        with self._connection.cursor() as cursor:
            cursor.execute(f"SET SESSION long_query_time = {_LONGEST_QUERY_TIME}")
            # MySQL 9 requires a privilege for this variable.
            is_unlogged = self._is_set("min_examined_row_limit = 4294967295", unless=_NO_PRIVILEGE)
            cursor.execute(f"SET SESSION lock_wait_timeout = {math.ceil(self._at_most)}")
            # Under SERIALIZABLE, which may be the server's default, a SELECT locks the rows that it reads.
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            reads_only = self._is_set("TRANSACTION READ ONLY", unless=_NOT_THERE)
            self._begin = "START TRANSACTION READ ONLY" if reads_only else "START TRANSACTION"
            cursor.execute(
                "SHOW SESSION VARIABLES WHERE Variable_name IN "
                "('max_execution_time', 'max_statement_time', 'sql_mode', 'log_queries_not_using_indexes')"
            )
            variables = {name.lower(): str(value) for name, value in cursor.fetchall()}
            if not is_unlogged and variables.get("log_queries_not_using_indexes") == "ON":
                self.note = _COUNTS_ARE_LOGGED
            other_modes = _OTHER_SYNTAX & set(variables.get("sql_mode", "").upper().split(","))
            if other_modes:
                raise LabError(
                    f"the server reads statements otherwise (sql_mode {', '.join(sorted(other_modes))})",
                    "leave A to the log: give no server",
                )
            if _identity(self._connection) != _identity(self._killer):
                raise LabError(
                    "two connections reach two servers: what takes too long could not be ended", "name one server"
                )
            limit = _limit(variables, self._at_most)
            if limit is not None:
                cursor.execute(limit)
            return limit is not None

    def _is_set(self, what: str, unless: frozenset[int]) -> bool:
        """Set a session variable. Return False if the server refuses it with one of these error numbers."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(f"SET SESSION {what}")
        except pymysql.MySQLError as error:
            if _number(error) not in unless:
                raise
            return False
        return True


@contextmanager
def _killed_after(seconds: float, connection: Connection, killer: Connection) -> Iterator[threading.Event]:
    """Send KILL QUERY for the connection's statement if the block takes longer, or is left by an interrupt.

    Yield an event that is set by then.
    """
    done, killed = threading.Event(), threading.Event()
    # Held while KILL QUERY is sent, so that it never hits the statement after the one that it was meant for.
    lock = threading.Lock()

    def kill() -> None:
        with lock:
            if done.is_set():
                return
            killed.set()
            with suppress(pymysql.MySQLError, OSError), killer.cursor() as cursor:
                cursor.execute(f"KILL QUERY {connection.thread_id()}")  # type: ignore[no-untyped-call]

    timer = threading.Timer(seconds, kill)
    timer.daemon = True
    timer.start()
    try:
        yield killed
    except pymysql.MySQLError:
        # The statement has ended.
        raise
    except BaseException:
        # The client closes the connection; a server notices that only when it has rows to send.
        kill()
        raise
    finally:
        with lock:
            done.set()
        timer.cancel()


def _identity(connection: Connection) -> object:
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@hostname, @@port, @@datadir")
        return cursor.fetchone()


def _limit(variables: dict[str, str], seconds: float) -> str | None:
    """Return the statement that limits the time of the connection's statements; None if the version has none."""
    if "max_execution_time" in variables:
        return f"SET SESSION max_execution_time = {math.ceil(seconds * 1000)}"
    # Percona Server 5.6 has one of that name in milliseconds, without a fraction.
    if "." in variables.get("max_statement_time", ""):
        return f"SET SESSION max_statement_time = {seconds:.3f}"
    return None


def _number(error: pymysql.MySQLError) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


class TableRead(msgspec.Struct, frozen=True):
    """A line of EXPLAIN.

    `access`: its type (`ref`, `ALL`, …), empty if no table is read; `rows`: expected rows of the table, each time it
    is read; `filtered`: percent of them that the optimiser expects to keep; `extra`: further remarks.
    """

    part: str
    table: str
    access: str
    rows: int
    filtered: float
    extra: str = ""


def plan_of(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[TableRead, ...]:
    """Parse the lines of an EXPLAIN in its traditional form."""
    return tuple(_line(dict(zip(headings, row, strict=True))) for row in rows)


def counted_tables(plan: Sequence[TableRead]) -> int:
    """Return the number of tables whose rows count as examined.

    A table that is read by const or system is read during optimisation, and its row is not counted. If all tables
    are, one row is counted for all of them. MySQL 5.5 to 9.7 and MariaDB 10.2 to 11.8 do so
    (tests/slowlog/candidates/counted.json). A table that the optimiser has removed has no line.
    """
    read = [each for each in plan if each.access and not each.table.startswith("<")]
    return max(1, sum(each.access not in _CONST for each in read))


def const_tables(plan: Sequence[TableRead]) -> int:
    """Return the number of tables that are read by const or system."""
    return sum(each.access in _CONST and not each.table.startswith("<") for each in plan)


def compares_uncounted(plan: Sequence[TableRead]) -> bool:
    """Return True if a join buffer is used: MySQL before 5.7 and MariaDB do not count the rows compared there."""
    return any("join buffer" in each.extra for each in plan)


def estimated_rows(plan: Sequence[TableRead]) -> int:
    """Return the rows that the optimiser expects of the join: the product over its tables of rows × filtered."""
    joined = [each for each in plan if each.part in _OUTER]
    if any(not each.access for each in joined):
        # "Impossible WHERE" and the like: the optimiser knows that no row matches.
        return 0
    return round(math.prod(each.rows * each.filtered / 100 for each in joined))


def _line(cells: Mapping[str, Any]) -> TableRead:
    return TableRead(
        part=str(cells.get("select_type") or ""),
        table=str(cells.get("table") or ""),
        access=str(cells.get("type") or ""),
        rows=int(cells.get("rows") or 0),
        filtered=float(100.0 if cells.get("filtered") is None else cells["filtered"]),
        extra=str(cells.get("Extra") or ""),
    )
