"""A user's own server, read by one connection and one statement a sample; nothing in it is changed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields, replace

import pymysql
from pymysql.connections import Connection

from redolab.clock import Instant
from redolab.counters.live.readings import WITHOUT_LSN, WITHOUT_OS_LOG_WRITTEN, Reading, readings
from redolab.errors import InvalidInput, LabError
from redolab.servers.address import Address, refused
from redolab.servers.dialects import CAPACITY_IN_FORCE, dialect_of_version
from redolab.servers.redo_capacity import RedoCapacity
from redolab.servers.redo_counters import Counters, Sample, sample_at

_LOST = (pymysql.MySQLError, OSError)


class LiveServer:
    """A server that is sampled; after a lost connection the next sample reconnects."""

    def __init__(self, address: Address) -> None:
        """Connect, and find out which counters it offers. Raises `LabError` with the reason if it cannot be sampled."""
        self._address = address
        try:
            self._connection: Connection | None = address.connect()
            self._meet()
        except pymysql.MySQLError as error:
            raise refused(address, error) from error
        if self.offered.lsn is None and self.offered.os_log_written is None:
            raise LabError(f"{address} says nothing of a redo log", "is InnoDB on?")

    def sample(self) -> Sample | None:
        """Return the counters now; None while the connection is lost.

        The checkpoint age at which statements wait is the server's own figure, else by the formula of its version.
        """
        try:
            if self._connection is None:
                self._connection = self._address.connect()
                self._meet()
            instant = Instant(monotonic=time.monotonic(), wall=time.time())
            counters = self._counters()
            return sample_at(instant, replace(counters, hard_limit=counters.hard_limit or self._hard_limit))
        except _LOST:
            self.close()
            return None

    def largest_transaction(self) -> int | None:
        """Return the rows that the largest open transaction has changed.

        None while the connection is lost, and for a user without the privilege PROCESS.
        """
        try:
            if self._connection is None:
                return None
            with self._connection.cursor() as cursor:
                cursor.execute("SELECT COALESCE(MAX(trx_rows_modified), 0) FROM information_schema.innodb_trx")
                row = cursor.fetchone()
            return int(row[0]) if row else None
        except _LOST:
            return None

    def read_settings(self) -> None:
        """Read its settings anew, as they can be changed while it runs; do nothing while the connection is lost."""
        try:
            if self._connection is not None:
                self._read_settings()
        except _LOST:
            self.close()

    def in_words(self) -> list[str]:
        """Return lines on the server: its version, and the counters it offers with their source."""
        names = [field.name for field in fields(Counters)]
        there = [name for name in names if getattr(self.offered, name) is not None]
        missing = [name for name in names if name not in there]
        lines = [
            f"{self._address}: {self.version}, read from {self._reading.where}",
            f"offers {', '.join(there)}; not {', '.join(missing)}",
        ]
        if self.offered.lsn is None:
            return [*lines, WITHOUT_LSN]
        return lines if self.offered.os_log_written is not None else [*lines, WITHOUT_OS_LOG_WRITTEN]

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None and self._connection.open:
            self._connection.close()
        self._connection = None

    def _meet(self) -> None:
        """Find out the server's version and counters: after a lost connection it can be another server."""
        self._read_settings()
        self._reading = self._best_reading()
        self.offered = self._counters()

    def _read_settings(self) -> None:
        self.version, self.variables = self._version_and_variables()
        self.log_size, capacity = _capacity(self.version, self.variables)
        self._hard_limit = None if capacity is None else capacity.hard_limit
        self.sync_flush_point = None if capacity is None else capacity.sync_flush_point
        self.buffer_pool = int(self.variables.get("innodb_buffer_pool_size", 0))
        self.read_threads = int(self.variables.get("innodb_read_io_threads", 0)) or None
        is_logged = self.variables.get("log_bin", "OFF") == "ON"
        self.binary_log = int(self.variables.get("max_binlog_size", 0)) if is_logged else 0

    def _version_and_variables(self) -> tuple[str, dict[str, str]]:
        assert self._connection is not None
        with self._connection.cursor() as cursor:
            cursor.execute(
                "SHOW GLOBAL VARIABLES WHERE Variable_name = 'version' OR Variable_name LIKE 'innodb%log%' "
                "OR Variable_name LIKE 'innodb_max_dirty_pages%' OR Variable_name LIKE 'innodb_adaptive_flushing%' "
                "OR Variable_name IN ('innodb_buffer_pool_size', 'innodb_read_io_threads', 'log_bin', 'max_binlog_size')"
            )
            variables = {name.lower(): str(value) for name, value in cursor.fetchall()}
            cursor.execute(f"SHOW GLOBAL STATUS LIKE '{CAPACITY_IN_FORCE}'")
            variables |= {name.lower(): str(value) for name, value in cursor.fetchall()}
        return variables["version"], variables

    def _best_reading(self) -> Reading:
        ways = readings()
        for way in ways:
            self._reading = way
            try:
                if self._counters().lsn:
                    return way
            except (pymysql.err.ProgrammingError, pymysql.err.OperationalError, pymysql.err.InternalError):
                # This version, or this user, cannot read it.
                continue
        return ways[-1]

    def _counters(self) -> Counters:
        assert self._connection is not None
        with self._connection.cursor() as cursor:
            cursor.execute(self._reading.statement)
            return self._reading.counters(cursor.fetchall())


def _capacity(version: str, variables: Mapping[str, str]) -> tuple[int | None, RedoCapacity | None]:
    """Return the bytes of the redo log, and its limits by the formula of its version; None if these are unknown."""
    try:
        dialect = dialect_of_version(version)
        log_size = dialect.log_size(variables)
        return log_size, dialect.capacity(dialect.layout(log_size))
    except (InvalidInput, KeyError):
        return None, None
