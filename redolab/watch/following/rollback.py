"""Rows that a server still has to roll back after it is ready: transactions open at the crash. One statement a look."""

from __future__ import annotations

import pymysql
from pymysql.connections import Connection
from pymysql.constants import ER

from redolab.servers.address import Address, refused

_ROWS = """
SELECT COALESCE(SUM(trx_rows_modified), 0) FROM information_schema.innodb_trx
WHERE trx_mysql_thread_id = 0 AND trx_rows_modified > 0
"""
"""Rows left to undo: recovered transactions have no connection, and their number of modified rows shrinks."""
_REFUSED = (
    ER.ACCESS_DENIED_ERROR,
    ER.DBACCESS_DENIED_ERROR,
    ER.SPECIFIC_ACCESS_DENIED_ERROR,
    ER.HOST_NOT_PRIVILEGED,
)
_PATIENCE = 60.0
"""Seconds without progress or without an answer after which to stop waiting."""


class RollbackWatch:
    """Progress of a server's rollback; times in seconds on the caller's clock."""

    def __init__(self, address: Address) -> None:
        """Prepare to connect at the first look. Raises `InvalidInput` if the address names no server."""
        address.check()
        self._address = address
        self._connection: Connection | None = None
        self._first: tuple[float, int] | None = None
        self._fewer_at: float | None = None
        self.rows: int | None = None
        """Rows still to be undone; None as long as the server cannot be asked."""
        self.seconds_left: float | None = None
        """Seconds left at the rate since the first look; None where no progress is seen."""
        self.has_stopped = False
        """True if no rows are undone any more: prepared transactions stay until somebody commits or rolls them back."""

    def look(self, at: float) -> None:
        """Query the rows left. Raises `LabError` if the account may not."""
        rows = self._query()
        if self._fewer_at is None or (rows is not None and (self.rows is None or rows < self.rows)):
            self._fewer_at = at
        self.has_stopped = at - self._fewer_at >= _PATIENCE
        self.rows = rows
        if rows is None:
            return
        self._first = self._first or (at, rows)
        since, before = self._first
        self.seconds_left = rows * (at - since) / (before - rows) if before > rows and at > since else None

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None and self._connection.open:
            self._connection.close()
        self._connection = None

    def _query(self) -> int | None:
        try:
            if self._connection is None:
                self._connection = self._address.connect()
            with self._connection.cursor() as cursor:
                cursor.execute(_ROWS)
                row = cursor.fetchone()
        except pymysql.MySQLError as error:
            self.close()
            if error.args and error.args[0] in _REFUSED:
                raise refused(self._address, error) from error
            return None
        except OSError:
            self.close()
            return None
        return int(row[0]) if row else 0
