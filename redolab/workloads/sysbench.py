"""sysbench: its own write workload, ours written for it, and the tables of both."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from pathlib import Path

from pymysql.connections import Connection
from typing_extensions import override

from redolab.lab import Lab
from redolab.machine import processes
from redolab.machine.processes import Command, Process
from redolab.machine.tools import Tools
from redolab.project import PROJECT
from redolab.servers.dialects import SOCKET
from redolab.servers.instance import Instance
from redolab.workloads.contract import Follow, RunningWorkload, Workload, check_pages, check_value
from redolab.workloads.data import BYTES_PER_ROW, DATABASE, Clients, SysbenchTables, TableCheck, WorkloadReport
from redolab.workloads.reporting import running
from redolab.workloads.source_code import code_alone

SCRIPTS = PROJECT.provision / "workloads"
_OURS = ".lua"
"""Suffix of the scripts of the project; those of sysbench are named without one."""
_REPORT = re.compile(r"tps: (?P<tps>[\d.]+).*?lat \(ms,95%\): (?P<latency>[\d.]+) err/s: (?P<errors>[\d.]+)")
_EVENTS = re.compile(r"total number of events:\s+(\d+)")
_SECONDS = re.compile(r"total time:\s+([\d.]+)s")
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
        script = code_alone(SCRIPTS / self.script) if self.script.endswith(_OURS) else self.script
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
        command = sysbench_command(
            tools, instance.folder, "oltp_write_only", _LOAD_THREADS, *_table_arguments(data), "prepare"
        )
        return processes.start(command, output)

    @override
    def run(
        self, tools: Tools, instance: Instance, data: SysbenchTables, clients: Clients, output: Path
    ) -> AbstractContextManager[RunningWorkload]:
        command = sysbench_command(
            tools,
            instance.folder,
            self.script,
            clients.connections,
            *_table_arguments(data),
            "--time=0",
            "--events=0",
            f"--report-interval={max(1, round(clients.report_every))}",
            f"--mysql-ignore-errors={_LOCK_CONFLICTS}",
            *self.options,
            "run",
        )
        return running("sysbench", command, output, report_in)

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


def report_in(text: str, arrival: float) -> WorkloadReport | None:
    """Return the report in a line of sysbench's output, on the second before its arrival; None without one."""
    match = _REPORT.search(text)
    if match is None:
        return None
    return WorkloadReport(
        monotonic=arrival,
        commits_per_second=float(match["tps"]),
        errors_per_second=float(match["errors"]),
        latency_95_ms=float(match["latency"]),
    )


def totals_in(output: str) -> tuple[int, float] | None:
    """Return the events and the seconds in the report at the end of sysbench's output; None without one."""
    events, seconds = _EVENTS.search(output), _SECONDS.search(output)
    return None if events is None or seconds is None else (int(events[1]), float(seconds[1]))


def sysbench_command(tools: Tools, instance: Path, script: str, threads: int, *options: str) -> Command:
    """Return the command by which `threads` clients run a script on the instance in that folder.

    `script`: the name of a file of the project's, or of a script of sysbench's own.
    """
    sysbench = tools.get("sysbench")
    # bin/sysbench and share/sysbench stand side by side, wherever the package was unpacked.
    own = sysbench.program.parent.parent / "share/sysbench" / f"{script}.lua"
    arguments = [
        *(str(sysbench.program), str(SCRIPTS / script if script.endswith(_OURS) else own)),
        # Relative to the instance's folder, in which sysbench runs: a socket's address may have 107 bytes only.
        *(f"--mysql-socket={SOCKET}", "--mysql-user=root", f"--mysql-db={DATABASE}", f"--threads={threads}"),
        *options,
    ]
    return Command(arguments, folder=instance, environment=sysbench.environment)


def _table_arguments(data: SysbenchTables) -> list[str]:
    return [f"--tables={data.tables}", f"--table-size={data.rows}"]
