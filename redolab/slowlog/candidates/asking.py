"""Questions to a user's server about A: read-only, within a time limit, and only statements that `counting` allows.

Nothing on the server is changed. Settings apply to the connection alone. The session and every transaction are READ
ONLY where the version has that, and every transaction is rolled back.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from types import TracebackType
from typing import Any

import pymysql
from pymysql.connections import Connection

from redolab.errors import LabError
from redolab.slowlog.candidates.counting import Countable, TableName
from redolab.slowlog.candidates.plan import TableRead, plan_of

_OTHERWISE = frozenset({"ANSI_QUOTES", "HIGH_NOT_PRECEDENCE", "NO_BACKSLASH_ESCAPES", "ORACLE", "PIPES_AS_CONCAT"})
"""SQL modes in which a server reads a text as another statement than the parser does."""
_READS_WITHOUT_LOCKS = frozenset({"INNODB", "ROCKSDB", "TOKUDB"})
"""Engines whose SELECT blocks no writer; a long SELECT on any other engine does."""
_TIMED_OUT = frozenset({1028, 1205, 1317, 1969, 3024})
"""Error numbers of a statement that was ended, by its time limit, by KILL QUERY, or waiting for another's DDL."""
_SYNTAX = 1064
_NO_PRIVILEGE = frozenset({1227})
_NOT_THERE = frozenset({_SYNTAX, 1193})
"""Error numbers by which versions without it refuse TRANSACTION READ ONLY: MySQL 5.5 takes it for a variable."""
_IN_ITS_LOG = (
    "What was counted without an index is in the server's slow log: log_queries_not_using_indexes is ON, and this user may not set "
    "min_examined_row_limit for its session."
)
_LOST = frozenset({0, 2006, 2013, 2055})
_LONGEST_QUERY_TIME = 31_536_000
_GRACE = 2.0
"""Seconds: how much later than the server's own limit KILL QUERY is sent, should that not have ended it."""


class NotAnswered(Exception):
    """The server does not answer about a statement; the text says why."""


class TimedOut(NotAnswered):
    """The answer would have taken longer than allowed."""


class AskedServer(AbstractContextManager["AskedServer"]):
    """A server that is asked through one connection; a second one ends statements that take too long."""

    def __init__(self, connect: Callable[[float], Connection], at_most: float) -> None:
        """Open two connections, by `connect` with a limit in seconds for answers; `at_most`: seconds a statement.

        Raises `pymysql.MySQLError`, and `LabError` if the two connections reach different servers.
        """
        self.note = ""
        self._at_most = at_most
        with ExitStack() as stack:
            self._connection = stack.enter_context(closing(connect(at_most + 4 * _GRACE)))
            self._killer = stack.enter_context(closing(connect(4 * _GRACE)))
            self._thread = int(self._connection.thread_id())  # type: ignore[no-untyped-call]
            self._limited = self._set_up()
            self._connections = stack.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connections.close()

    def plan(self, countable: Countable, database: str | None) -> tuple[TableRead, ...]:
        """Return the plan by which the server would read the statement's tables. Raises `NotAnswered`."""
        return self._explained(countable, countable.statement, database)

    def plan_of_count(self, countable: Countable, database: str | None) -> tuple[TableRead, ...]:
        """Return the plan by which the server would count the rows of those tables. Raises `NotAnswered`."""
        return self._explained(countable, countable.counting, database)

    def count(self, countable: Countable, database: str | None) -> int:
        """Count the rows that the statement joins. Raises `NotAnswered`, with its kind `TimedOut`."""
        with self._reading(countable, database):
            _, rows = self._run(countable.counting)
        return int(rows[0][0])

    def _explained(self, countable: Countable, statement: str, database: str | None) -> tuple[TableRead, ...]:
        with self._reading(countable, database):
            # Each version has one of them with the column `filtered`, but 5.5 to 5.6 with the first alone.
            for form in ("EXPLAIN EXTENDED", "EXPLAIN FORMAT=TRADITIONAL"):
                try:
                    return plan_of(*self._run(f"{form} {statement}"))
                except pymysql.MySQLError as error:
                    if _number(error) != _SYNTAX:
                        raise
            raise NotAnswered("the server does not explain it")

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
        watch = _Watch(self._killer, self._thread, self._at_most + (_GRACE if self._limited else 0.0))
        with watch, self._connection.cursor() as cursor:
            cursor.execute(statement)
            found = [each[0] for each in cursor.description or ()], cursor.fetchall()
        if watch.sent:
            raise TimedOut(f"not done within {self._at_most:g} s")
        return found

    def _check_table(self, table: TableName, database: str | None) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(
                "SELECT TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
                (table.database or database, table.name),
            )
            found = cursor.fetchone()
        if found is None:
            raise NotAnswered(f"there is no table {table}, or not for this user")
        kind, engine = found
        if kind != "BASE TABLE":
            raise NotAnswered(f"{table} is no table but a {str(kind).lower()}, which may call functions")
        if str(engine).upper() not in _READS_WITHOUT_LOCKS:
            raise NotAnswered(f"{table} is {engine}: reading it locks it")

    def _set_up(self) -> bool:
        """Make the session read-only, limited, and absent from the slow log. Return True if the server limits time."""
        with self._connection.cursor() as cursor:
            cursor.execute(f"SET SESSION long_query_time = {_LONGEST_QUERY_TIME}")
            # MySQL 9 asks a privilege for that.
            kept_out = self._is_set("min_examined_row_limit = 4294967295", unless=_NO_PRIVILEGE)
            cursor.execute(f"SET SESSION lock_wait_timeout = {math.ceil(self._at_most)}")
            # By SERIALIZABLE, were that the server's default, a SELECT would lock what it reads.
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            reads_only = self._is_set("TRANSACTION READ ONLY", unless=_NOT_THERE)
            self._begin = "START TRANSACTION READ ONLY" if reads_only else "START TRANSACTION"
            cursor.execute(
                "SHOW SESSION VARIABLES WHERE Variable_name IN "
                "('max_execution_time', 'max_statement_time', 'sql_mode', 'log_queries_not_using_indexes')"
            )
            variables = {name.lower(): str(value) for name, value in cursor.fetchall()}
            if not kept_out and variables.get("log_queries_not_using_indexes") == "ON":
                self.note = _IN_ITS_LOG
            otherwise = _OTHERWISE & set(variables.get("sql_mode", "").upper().split(","))
            if otherwise:
                raise LabError(
                    f"the server reads statements otherwise (sql_mode {', '.join(sorted(otherwise))})",
                    "leave A to the log: give no server",
                )
            if self._place(self._connection) != self._place(self._killer):
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

    @staticmethod
    def _place(connection: Connection) -> object:
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@hostname, @@port, @@datadir")
            return cursor.fetchone()


class _Watch(AbstractContextManager["_Watch"]):
    """Watch that sends KILL QUERY for a connection if the block takes too long."""

    def __init__(self, killer: Connection, thread: int, seconds: float) -> None:
        self.sent = False
        self._killer = killer
        self._thread = thread
        self._done = False
        # Held while it is sent, so that it never hits the statement after the one that it was meant for.
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._kill)
        self._timer.daemon = True

    def __enter__(self) -> _Watch:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._done = True
        self._timer.cancel()

    def _kill(self) -> None:
        with self._lock:
            if self._done:
                return
            self.sent = True
            with suppress(pymysql.MySQLError, OSError), self._killer.cursor() as cursor:
                cursor.execute(f"KILL QUERY {self._thread}")


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
