"""How many rows a server that takes connections has still to undo of what was open at its crash; one statement a look."""

from __future__ import annotations

import pymysql
from pymysql.connections import Connection

from redolab.servers.address import Address

_ROWS = """
SELECT COUNT(*), COALESCE(SUM(trx_rows_modified), 0) FROM information_schema.innodb_trx
WHERE trx_mysql_thread_id = 0 AND trx_rows_modified > 0
"""
"""A transaction that was found has no connection; what is modified in it shrinks as it is undone."""


class RollbackWatch:
    """Asks a server for it again and again."""

    def __init__(self, address: Address) -> None:
        """Connects with the first look. Raises `InvalidInput` if the address names no server."""
        address.check()
        self._address = address
        self._connection: Connection | None = None
        self._first: tuple[float, int] | None = None
        self._rows: int | None = None
        self._at = 0.0

    def look(self, at: float) -> int | None:
        """Rows that are still to be undone; None while it cannot be asked. `at`: seconds on the caller's clock."""
        try:
            if self._connection is None:
                self._connection = self._address.connect()
            with self._connection.cursor() as cursor:
                cursor.execute(_ROWS)
                row = cursor.fetchone()
        except (pymysql.MySQLError, OSError):
            self.close()
            return None
        self._rows, self._at = (int(row[1]) if row else 0), at
        if self._first is None:
            self._first = at, self._rows
        return self._rows

    @property
    def seconds_left(self) -> float | None:
        """At the rate since the first look; None where none is seen."""
        if self._first is None or self._rows is None:
            return None
        since, rows = self._first
        undone = rows - self._rows
        return self._rows * (self._at - since) / undone if undone > 0 and self._at > since else None

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None and self._connection.open:
            self._connection.close()
        self._connection = None
