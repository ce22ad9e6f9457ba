"""The contract of workloads: load tables, write until told to stop, report progress, verify the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import msgspec
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from redolab.lab import Lab
from redolab.machine import processes
from redolab.machine.processes import Command, Process
from redolab.machine.tools import Tools
from redolab.servers.instance import Instance
from redolab.workloads.data import Clients, TableCheck, WorkloadReport
from redolab.workloads.reporting import ReportingRun

Follow: TypeAlias = Callable[[float, float, str], None]
"""Function to which progress is reported: amount done, total amount, and a few words."""


RunningWorkload: TypeAlias = ReportingRun[WorkloadReport]
"""A workload that writes to an instance."""


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """A kind of load, an entry of `provision/workloads.toml`. Its data is a struct; equal data is loaded only once."""

    about: str
    """Effect of the workload, in one line."""

    network: ClassVar[bool] = False
    """True if clients know TCP only: they and the server share a network namespace of their own."""
    thinks: ClassVar[bool] = False
    """True if clients can have think time."""
    bytes_per_warehouse: ClassVar[int | None] = None
    """Bytes on disk of one warehouse of TPC-C; None for other workloads."""
    caveats: ClassVar[Sequence[str]] = ()
    """Sentences that must accompany the workload's figures wherever they are shown."""

    def content(self) -> str:
        """Return everything of the project's that decides the load: workloads of equal content are the same."""
        raise NotImplementedError

    def require(self, lab: Lab) -> None:
        """Install the programs that it takes on this machine. Raises `LabError` if that cannot be done."""
        raise NotImplementedError

    def data(self, size: int) -> Any:
        """Return the tables that come to about `size` bytes: a struct that is part of the dataset's key."""
        raise NotImplementedError

    def schema(self, data: Any) -> Sequence[str]:
        """Return statements to run in its schema before loading. Most programs make their tables themselves."""
        return ()

    def finish(self, data: Any) -> Sequence[str]:
        """Return statements to run when the data has been loaded."""
        return ()

    def load(self, tools: Tools, instance: Instance, data: Any, output: Path) -> Process:
        """Start loading the data into the instance; the caller waits for its end. By default `schema` has it all."""
        return processes.start(Command(["true"]), output)

    def run(
        self, tools: Tools, instance: Instance, data: Any, clients: Clients, output: Path
    ) -> AbstractContextManager[RunningWorkload]:
        """Keep clients writing to the instance while the context lasts; their output goes to the file `output`."""
        raise NotImplementedError

    def check_loaded(self, connection: Connection, data: Any, follow: Follow) -> list[TableCheck]:
        """Check that all rows were loaded. Most programs end with an error if one could not be."""
        return []

    def verify(self, connection: Connection, data: Any, turn: int, follow: Follow) -> list[TableCheck]:
        """Check that a recovery left the data intact. Slow checks are split; each `turn` does another part."""
        raise NotImplementedError


def check_value(cursor: Cursor, what: str, query: str, expected: int) -> TableCheck:
    """Run a query for one value and return its check against the expected value."""
    cursor.execute(query)
    row = cursor.fetchone()
    return TableCheck(what=what, expected=str(expected), found=str(row[0] if row else None))


def check_pages(cursor: Cursor, table: str) -> TableCheck:
    """Return the check of a table's pages by CHECK TABLE … EXTENDED."""
    cursor.execute(f"CHECK TABLE {table} EXTENDED")
    found = "; ".join(str(row[3]) for row in cursor.fetchall())
    return TableCheck(what=f"CHECK TABLE {table} EXTENDED", expected="OK", found=found)
