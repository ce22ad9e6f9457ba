"""Checks of TPC-C's tables after loading and after a recovery."""

from __future__ import annotations

from collections.abc import Collection

from pymysql.connections import Connection

from redolab.workloads.contract import Follow, check_pages, check_value
from redolab.workloads.data import DATABASE, TableCheck
from redolab.workloads.tpcc.conditions import check_conditions, conditions
from redolab.workloads.tpcc.tables import TpccTables

_QUICK = ("3.3.2.1", "3.3.2.2", "3.3.2.3")
"""Clauses of conditions that are quick to check in a database of any size."""


def check_loaded(connection: Connection, data: TpccTables, follow: Follow) -> list[TableCheck]:
    """Check all row counts and all conditions."""
    with connection.cursor() as cursor:
        counts = [
            check_value(cursor, f"rows of {name}", f"SELECT COUNT(*) FROM {DATABASE}.{name}", rows)
            for name, rows in data.rows().items()
        ]
    return [*counts, *check_conditions(connection, conditions(data.new_order), data.warehouses, follow)]


def check_recovered(
    connection: Connection, data: TpccTables, turn: int, follow: Follow, *, broken: Collection[str] = ()
) -> list[TableCheck]:
    """Check a recovered database; in each turn also one table page by page.

    In the first turn: all conditions, and the row counts of tables without inserts; later: the quick conditions.
    `broken`: the clauses that the program's own transactions violate.
    """
    names = data.names()
    table = names[(turn - 1) % len(names)]
    with connection.cursor() as cursor:
        counts = [
            check_value(cursor, f"rows of {name}", f"SELECT COUNT(*) FROM {DATABASE}.{name}", rows)
            for name, rows in (data.constant_rows().items() if turn == 1 else ())
        ]
        follow(0, 1, f"CHECK TABLE {table}")
        pages = check_pages(cursor, f"{DATABASE}.{table}")
    asked = [each for each in conditions(data.new_order) if turn == 1 or each.clause in _QUICK]
    checked = [each for each in asked if each.clause not in broken]
    return [*counts, pages, *check_conditions(connection, checked, data.warehouses, follow)]
