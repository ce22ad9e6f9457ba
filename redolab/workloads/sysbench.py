"""sysbench: its own write workload, ours written for it, and the tables of both."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pymysql.connections import Connection
from typing_extensions import override

from redolab.lab import Lab
from redolab.machine import processes
from redolab.machine.processes import Command, Process
from redolab.machine.tools import Tool, Tools
from redolab.project import PROJECT
from redolab.servers.dialects import SOCKET
from redolab.servers.instance import Instance, NetworkAddress
from redolab.workloads.contract import Follow, RunningWorkload, Workload, check_pages, check_value
from redolab.workloads.data import BYTES_PER_ROW, DATABASE, Clients, SysbenchTables, TableCheck, WorkloadMoment
from redolab.workloads.reporting import ReportingRun
from redolab.workloads.source_code import code_alone

SCRIPTS = PROJECT.provision / "workloads"
_REPORT = re.compile(r"tps: (?P<tps>[\d.]+).*?lat \(ms,95%\): (?P<latency>[\d.]+) err/s: (?P<errors>[\d.]+)")
_LOAD_THREADS = 4
# Errors of a write that meets another, or a long-held lock; the client goes on with its next write.
_LOCK_CONFLICTS = "1020,1205,1213"
_TABLES = 16
"""Enough for the clients not to meet on one table's index, and for one table to be a quick sample to check."""
_OF_CLIENTS = r"large\_%"


class SysbenchWorkload(Workload, frozen=True, kw_only=True, tag="sysbench"):
    """A sysbench script: one of its own, or a file of the project's."""

    script: str
    options: tuple[str, ...] = ()
    """Further options of sysbench, while clients write."""

    @override
    def content(self) -> str:
        script = code_alone(SCRIPTS / self.script) if self.script.endswith(".lua") else self.script
        return " ".join([script, *self.options])

    @override
    def require(self, lab: Lab) -> None:
        lab.tools.require(["sysbench"], lab.progress)

    @override
    def data(self, size: int) -> SysbenchTables:
        return SysbenchTables(tables=_TABLES, rows=max(1, size // BYTES_PER_ROW // _TABLES))

    @override
    def load(self, tools: Tools, instance: Instance, data: SysbenchTables, output: Path) -> Process:
        """Fill the tables, each by one thread."""
        sysbench = tools.get("sysbench")
        script = _script_of_its_own(sysbench, "oltp_write_only")
        arguments = [*connection_arguments(sysbench, script, _LOAD_THREADS), *_table_arguments(data), "prepare"]
        return processes.start(Command(arguments, folder=instance.folder, environment=sysbench.environment), output)

    @contextmanager
    @override
    def run(
        self, tools: Tools, instance: Instance, data: SysbenchTables, clients: Clients, output: Path
    ) -> Iterator[RunningWorkload]:
        sysbench = tools.get("sysbench")
        ours = self.script.endswith(".lua")
        script = SCRIPTS / self.script if ours else _script_of_its_own(sysbench, self.script)
        arguments = [
            *connection_arguments(sysbench, script, clients.connections),
            *_table_arguments(data),
            *(
                "--time=0",
                "--events=0",
                f"--report-interval={max(1, round(clients.report_every))}",
                f"--mysql-ignore-errors={_LOCK_CONFLICTS}",
                *self.options,
                "run",
            ),
        ]
        process = processes.start(Command(arguments, folder=instance.folder, environment=sysbench.environment), output)
        try:
            yield ReportingRun("sysbench", process, moment_of)
        finally:
            process.stop(signal.SIGKILL)

    @override
    def verify(self, connection: Connection, data: SysbenchTables, turn: int, follow: Follow) -> list[TableCheck]:
        """Check all row counts, the pages of one table, and the tables that clients made for themselves."""
        names = data.names()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME LIKE %s",
                (DATABASE, _OF_CLIENTS),
            )
            of_clients = sorted(str(row[0]) for row in cursor.fetchall())
            counts = [
                check_value(cursor, f"rows of {name}", f"SELECT COUNT(*) FROM {DATABASE}.{name}", data.rows)
                for name in names
            ]
            looked_at = [names[(turn - 1) % len(names)], *of_clients]
            return [*counts, *(check_pages(cursor, f"{DATABASE}.{name}") for name in looked_at)]


def moment_of(text: str, arrival: float) -> WorkloadMoment | None:
    """Return the report in a line of sysbench's output, on the second before its arrival; None without one."""
    match = _REPORT.search(text)
    if match is None:
        return None
    return WorkloadMoment(
        monotonic=arrival,
        commits_per_second=float(match["tps"]),
        errors_per_second=float(match["errors"]),
        latency_95_ms=float(match["latency"]),
    )


def connection_arguments(
    sysbench: Tool, script: Path, threads: int, address: NetworkAddress | None = None
) -> list[str]:
    """Return the beginning of a command line: `threads` clients run `script` on the instance in their folder.

    With `address`, they connect over TCP in the network of the instance.
    """
    # Relative to the instance's folder, in which sysbench runs: a socket's address may have 107 bytes only.
    way = [f"--mysql-socket={SOCKET}", "--mysql-user=root"]
    if address is not None:
        way = [f"--mysql-host={address.host}", f"--mysql-port={address.port}", f"--mysql-user={address.user}"]
    return [str(sysbench.program), str(script), *way, f"--mysql-db={DATABASE}", f"--threads={threads}"]


def _script_of_its_own(sysbench: Tool, name: str) -> Path:
    # bin/sysbench and share/sysbench stand side by side, wherever the package was unpacked.
    return sysbench.program.parent.parent / "share/sysbench" / f"{name}.lua"


def _table_arguments(data: SysbenchTables) -> list[str]:
    return [f"--tables={data.tables}", f"--table-size={data.rows}"]
