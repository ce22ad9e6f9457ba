"""Data that workloads load, and reports that they return, as records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import msgspec

from redolab.workloads.tpcc.tables import TpccTables

DATABASE = "redolab"
"""The schema in which everything the lab makes lies."""


class TableCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A check after a recovery: its name, the expected value and the value found."""

    what: str
    expected: str
    found: str

    @property
    def passed(self) -> bool:
        """Return True if the value found is the expected one."""
        return self.found == self.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadReport:
    """Report of all clients for the interval, of about a second, that ended at `monotonic`."""

    monotonic: float
    commits_per_second: float
    errors_per_second: float | None = None
    latency_95_ms: float | None = None
    """95th percentile of a transaction's latency in milliseconds; with TPC-C, of a New-Order."""
    latency_99_ms: float | None = None
    """99th percentile in milliseconds; None if the tool does not report it."""
    new_orders_per_second: float | None = None
    """Completed New-Order transactions a second, with TPC-C; 60 times that is NOTPM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """Clients of a load, each with a connection of its own."""

    connections: int
    think_time: bool = False
    """True if clients wait between transactions as people at terminals would, where the workload defines such waits."""
    report_every: float = 1.0
    """Seconds between two reports, as near to it as the tool can."""


# Bytes on disk of a row of sysbench's table with its secondary index: 16 M rows took 4.0 GB (MariaDB 10.11).
BYTES_PER_ROW = 250


class SysbenchTables(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="sysbench"):
    """sysbench's `sbtest1` … , all of one size."""

    tables: int
    rows: int
    """Rows of each."""
    bytes_per_row: int = BYTES_PER_ROW
    """Bytes on disk of one row, from which the number of rows was computed."""

    def names(self) -> list[str]:
        """Return the names of the tables."""
        return [f"sbtest{number}" for number in range(1, self.tables + 1)]


STORM_ROWS = 1024
"""A row for each client that there can be."""


class StormTables(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="storm"):
    """A small table of fixed size, whatever size the dataset is to have."""

    rows: int = STORM_ROWS


class LedgerTables(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="ledger"):
    """An empty table of entries, and accounts with money, whatever size the dataset is to have."""

    accounts: int = 20_000
    """Accounts. They fill about fifty pages, so that the load also writes pages that existed before it."""
    balance: int = 1000
    """Balance of each account at first."""


class Defines(StrEnum):
    """Statements that one of the ledger's clients repeats instead of transactions."""

    NOTHING = "nothing"
    TABLES = "tables"
    """Create a table, fill it, add an index, rebuild it, empty it, fill it, drop it."""
    PARTITIONS = "partitions"
    """Create a partitioned table, fill it, empty a partition, drop another, rebuild all, empty the table, drop it."""


Rows: TypeAlias = tuple[int, ...] | None
"""Numbers of rows, one for each thousand of the table's keys; None: there is no table."""
_FULL, _EMPTY = (200, 200, 200, 200), (0, 0, 0, 0)
LEFT_BY: Mapping[Defines, Sequence[Rows]] = {
    Defines.NOTHING: (None,),
    Defines.TABLES: (_EMPTY, _FULL, _FULL, _FULL, _EMPTY, _FULL, None),
    Defines.PARTITIONS: (_EMPTY, _FULL, (200, 0, 200, 200), (200, 0, 0, 200), (200, 0, 0, 200), _EMPTY, None),
}
"""Rows that each of the statements leaves behind, in order."""

WorkloadData: TypeAlias = SysbenchTables | TpccTables | StormTables | LedgerTables
"""Data that a workload loads, of any kind."""
