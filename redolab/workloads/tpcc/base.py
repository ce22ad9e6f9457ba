"""Common part of TPC-C, whichever program loads and runs it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from pymysql.connections import Connection
from pymysql.cursors import Cursor
from typing_extensions import override

from redolab.workloads.contract import Follow, Workload, check_pages, check_value
from redolab.workloads.data import DATABASE, TableCheck
from redolab.workloads.tpcc.conditions import check_conditions, conditions
from redolab.workloads.tpcc.tables import BYTES_PER_WAREHOUSE, TpccTables

_QUICK = ("3.3.2.1", "3.3.2.2", "3.3.2.3")
"""Clauses of conditions that are quick to check in a database of any size."""


class TpccWorkload(Workload, frozen=True, kw_only=True):
    """The base of both programs; for all of it see `Workload`."""

    network = True
    bytes_per_warehouse = BYTES_PER_WAREHOUSE
    broken: ClassVar[Collection[str]] = ()
    """Clauses of the consistency conditions that the program's own transactions violate."""

    @property
    def loaded_by(self) -> str:
        """Return the program, with its version if it has one."""
        raise NotImplementedError

    @override
    def data(self, size: int) -> TpccTables:
        return TpccTables(warehouses=max(1, size // BYTES_PER_WAREHOUSE), loaded_by=self.loaded_by)

    @override
    def finish(self, data: TpccTables) -> Sequence[str]:
        """Return statements after which the server knows the sizes of the tables.

        The server updates its statistics only some seconds after a table has grown. One that was shut down before
        that took STOCK for one row and read all of it for each New-Order. MariaDB 10.11.19 then made 29 transactions
        a second instead of 674.
        """
        return [f"ANALYZE TABLE {name}" for name in data.names()]

    @override
    def check_loaded(self, connection: Connection, data: TpccTables, follow: Follow) -> list[TableCheck]:
        """Check all row counts and all consistency conditions."""
        with connection.cursor() as cursor:
            counts = _check_counts(cursor, data.rows())
        return [*counts, *check_conditions(connection, conditions(data.new_order), data.warehouses, follow)]

    @override
    def verify(self, connection: Connection, data: TpccTables, turn: int, follow: Follow) -> list[TableCheck]:
        """Check the conditions that the program keeps, and one table page by page.

        In the first turn these are all conditions, and the row counts of tables without inserts; later only the quick
        conditions.
        """
        names = data.names()
        table = names[(turn - 1) % len(names)]
        with connection.cursor() as cursor:
            counts = _check_counts(cursor, data.constant_rows()) if turn == 1 else []
            follow(0, 1, f"CHECK TABLE {table}")
            pages = check_pages(cursor, f"{DATABASE}.{table}")
        kept = [each for each in conditions(data.new_order) if each.clause not in self.broken]
        checked = [each for each in kept if turn == 1 or each.clause in _QUICK]
        return [*counts, pages, *check_conditions(connection, checked, data.warehouses, follow)]


def _check_counts(cursor: Cursor, rows: Mapping[str, int]) -> list[TableCheck]:
    return [
        check_value(cursor, f"rows of {name}", f"SELECT COUNT(*) FROM {DATABASE}.{name}", count)
        for name, count in rows.items()
    ]
