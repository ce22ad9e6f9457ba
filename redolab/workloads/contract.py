"""What a workload does: it loads its tables, writes until it is told to stop, tells how it goes, and verifies its data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pymysql.connections import Connection
from pymysql.cursors import Cursor

from redolab.lab import Lab
from redolab.machine.processes import Process
from redolab.machine.tools import Tools
from redolab.servers.instance import Instance
from redolab.workloads.data import Clients, TableCheck, WorkloadMoment

Follow: TypeAlias = Callable[[float, float, str], None]
"""Told how far something is: so much, of so much, and a few words."""


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

    @property
    def network(self) -> bool:
        """Whether its clients know TCP only: server and clients then share a network namespace that nobody else is in."""

    @property
    def thinks(self) -> bool:
        """Whether its clients can have think time."""

    @property
    def bytes_per_warehouse(self) -> int | None:
        """What a warehouse of TPC-C takes on disk; None of a workload that has none."""

    @property
    def caveats(self) -> Sequence[str]:
        """What must stand wherever its figures do, a sentence each."""

    def content(self) -> str:
        """What decides its load as far as the project has it: two workloads of equal content are the same."""

    def require(self, lab: Lab) -> None:
        """Have the programs that it takes on this machine. Raises `LabError` if that cannot be."""

    def data(self, size: int) -> Any:
        """Its tables that come to about so many bytes: a struct that is part of the dataset's key."""

    def schema(self, data: Any) -> Sequence[str]:
        """Statements to run, in its schema, before the data is loaded."""

    def finish(self, data: Any) -> Sequence[str]:
        """Statements to run when the data has been loaded."""

    def load(self, tools: Tools, instance: Instance, data: Any, output: Path) -> Process:
        """Start loading the data into the instance; the caller waits for its end."""

    def run(
        self, tools: Tools, instance: Instance, data: Any, clients: Clients, output: Path
    ) -> AbstractContextManager[RunningWorkload]:
        """While in it: the clients write to the instance; what they say goes to the file `output`."""

    def check_loaded(self, connection: Connection, data: Any, follow: Follow) -> list[TableCheck]:
        """Check that all was loaded, and as it must be."""

    def verify(self, connection: Connection, data: Any, turn: int, follow: Follow) -> list[TableCheck]:
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
