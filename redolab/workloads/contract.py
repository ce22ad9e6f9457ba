"""What a workload does: it loads its tables, writes until it is told to stop, tells how it goes, and verifies its data."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from redolab.machine.processes import Process
from redolab.machine.tools import Tools

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
    """95th percentile of a transaction's latency."""


class RunningWorkload(Protocol):
    """A workload that writes to an instance."""

    def moments(self) -> Sequence[WorkloadMoment]:
        """What its clients have counted since it was asked last, in order."""

    def check_running(self) -> None:
        """Raises `WorkloadFailed` if it has ended by itself."""


class Workload(Protocol):
    """A kind of load, an entry of `provision/workloads.toml`. `Data` is what it loads: equal data need not be loaded again."""

    @property
    def about(self) -> str:
        """What it does, in a line."""

    def content(self) -> str:
        """What decides its load as far as the project has it: two workloads of equal content are the same."""

    def data(self, size: int) -> Any:
        """Its tables that come to about so many bytes: a struct that is part of the dataset's key."""

    def load(self, tools: Tools, instance: Path, data: Any, output: Path) -> Process:
        """Start loading the data into the instance in that folder; the caller waits for its end."""

    def run(
        self, tools: Tools, instance: Path, data: Any, threads: int, output: Path
    ) -> AbstractContextManager[RunningWorkload]:
        """While in it: so many clients write to the instance in that folder; what they say goes to the file `output`."""

    def verify(self, connection: Connection, data: Any, turn: int) -> list[TableCheck]:
        """Check that what must be there after a recovery is. What takes long is checked in part, another part each `turn`."""


def check_value(cursor: Cursor, what: str, query: str, expected: int) -> TableCheck:
    """Whether the one value that a query gives is as expected."""
    cursor.execute(query)
    row = cursor.fetchone()
    return TableCheck(what=what, expected=str(expected), found=str(row[0] if row else None))


def check_pages(cursor: Cursor, table: str) -> TableCheck:
    """Whether the server finds a table's pages in order."""
    cursor.execute(f"CHECK TABLE {table} EXTENDED")
    found = "; ".join(str(row[3]) for row in cursor.fetchall())
    return TableCheck(what=f"CHECK TABLE {table} EXTENDED", expected="OK", found=found)
