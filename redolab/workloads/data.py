"""What workloads load and tell, as data."""

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
    """What was checked after a recovery and what came of it."""

    what: str
    expected: str
    found: str

    @property
    def passed(self) -> bool:
        """Whether what was found is what must be there."""
        return self.found == self.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadMoment:
    """What the clients counted in the second (or so) that ended then."""

    monotonic: float
    commits_per_second: float
    errors_per_second: float | None = None
    latency_95_ms: float | None = None
    """95th percentile of a transaction's latency; of TPC-C, of a New-Order."""
    latency_99_ms: float | None = None
    """The 99th, where the tool says it."""
    new_orders_per_second: float | None = None
    """Of TPC-C: New-Order transactions that were completed; 60 times that is NOTPM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """Who writes: so many clients, each with a connection of its own."""

    connections: int
    think_time: bool = False
    """Whether they wait between transactions as people at terminals would, where the workload knows how long."""
    report_every: float = 1.0
    """Seconds between two reports, as near to it as the tool can."""


# What a row of sysbench's table takes on disk with its secondary index: 16 M rows made 4.0 GB (MariaDB 10.11).
BYTES_PER_ROW = 250


class SysbenchTables(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="sysbench"):
    """sysbench's `sbtest1` … , all of one size."""

    tables: int
    rows: int
    """Rows of each."""
    bytes_per_row: int = BYTES_PER_ROW
    """By which their number was worked out."""

    def names(self) -> list[str]:
        """Their names."""
        return [f"sbtest{number}" for number in range(1, self.tables + 1)]


STORM_ROWS = 1024
"""A row for each client that there can be."""


class StormTables(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="storm"):
    """One small table: how large the dataset is to be does not matter."""

    rows: int = STORM_ROWS


class LedgerTables(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="ledger"):
    """An empty table of entries, and accounts with money: how large the dataset is to be does not matter."""

    accounts: int = 20_000
    """Some fifty pages, so that there are pages to be written that were there before."""
    balance: int = 1000
    """Of each account at first."""


class Defines(StrEnum):
    """What one of the ledger's clients does instead of transactions: statements that come again and again."""

    NOTHING = "nothing"
    TABLES = "tables"
    """A table is created, filled, given an index, rebuilt, emptied, filled and dropped."""
    PARTITIONS = "partitions"
    """One with partitions is created and filled, one of them emptied and one dropped, all rebuilt, emptied and dropped."""


Rows: TypeAlias = tuple[int, ...] | None
"""Of each thousand of the table's keys; None: there is no table."""
_FULL, _EMPTY = (200, 200, 200, 200), (0, 0, 0, 0)
LEFT_BY: Mapping[Defines, Sequence[Rows]] = {
    Defines.NOTHING: (None,),
    Defines.TABLES: (_EMPTY, _FULL, _FULL, _FULL, _EMPTY, _FULL, None),
    Defines.PARTITIONS: (_EMPTY, _FULL, (200, 0, 200, 200), (200, 0, 0, 200), (200, 0, 0, 200), _EMPTY, None),
}
"""What each of the statements leaves."""

WorkloadData: TypeAlias = SysbenchTables | TpccTables | StormTables | LedgerTables
"""Any kind of data that a workload loads."""
