"""A storm of new connections: clients connect over TCP, each from its own address, run one statement, and leave."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import msgspec
from pymysql.connections import Connection
from typing_extensions import override

from redolab.lab import Lab
from redolab.machine.processes import Command
from redolab.machine.tools import Tools
from redolab.servers.instance import Instance, NetworkAddress
from redolab.workloads.contract import Follow, RunningWorkload, Workload, check_pages, check_value
from redolab.workloads.data import DATABASE, Clients, StormTables, TableCheck, WorkloadReport
from redolab.workloads.reporting import running
from redolab.workloads.source_code import code_alone
from redolab.workloads.tpcc.tpcc_build import STORM, build_go_tpc, built

_TABLE = f"{DATABASE}.visits"
_EVERYWHERE = "127.0.%"


class StormWorkload(Workload, frozen=True, kw_only=True, tag="storm"):
    """A program of the lab's own (`provision/go-tpc/storm.go`)."""

    # The server looks up names of TCP addresses only.
    network = True
    caveats = (
        "storm: every name is looked up in the server's own /etc/hosts, which takes no time; a name server that does not answer "
        "makes each new connection wait for it (docs/throughput.md).",
    )

    @override
    def content(self) -> str:
        return code_alone(STORM)

    @override
    def require(self, lab: Lab) -> None:
        """Build the client, together with go-tpc."""
        build_go_tpc(lab)

    @override
    def data(self, size: int) -> StormTables:
        return StormTables()

    @override
    def schema(self, data: StormTables) -> Sequence[str]:
        """Return the statements that make and fill the small table."""
        values = ", ".join(f"({number}, 0)" for number in range(1, data.rows + 1))
        return (
            f"CREATE TABLE {_TABLE} (id INT NOT NULL PRIMARY KEY, visits INT NOT NULL) ENGINE=InnoDB",
            f"INSERT INTO {_TABLE} VALUES {values}",
        )

    @override
    def finish(self, data: StormTables) -> Sequence[str]:
        """Return the statements that give a client, from any address, the rights it needs."""
        user = f"{NetworkAddress().user}@'{_EVERYWHERE}'"
        return (f"CREATE USER {user}", f"GRANT SELECT, UPDATE ON {DATABASE}.* TO {user}")

    @override
    def run(
        self, tools: Tools, instance: Instance, data: StormTables, clients: Clients, output: Path
    ) -> AbstractContextManager[RunningWorkload]:
        """Start the clients. A refused connection is counted, and tried again after 10 ms."""
        address = NetworkAddress()
        arguments = [
            *(str(built(tools, "storm")), f"-address={address.host}:{address.port}", f"-user={address.user}"),
            *(f"-database={DATABASE}", f"-clients={min(clients.connections, data.rows)}"),
            f"-every={clients.report_every}s",
        ]
        command = instance.in_its_network(Command(arguments))
        return running("storm", command, output, partial(_report_in, clients.report_every))

    @override
    def verify(self, connection: Connection, data: StormTables, turn: int, follow: Follow) -> list[TableCheck]:
        with connection.cursor() as cursor:
            return [
                check_value(cursor, f"rows of {_TABLE}", f"SELECT COUNT(*) FROM {_TABLE}", data.rows),
                check_pages(cursor, _TABLE),
            ]


class _Report(msgspec.Struct):
    commits: int
    failed: int
    latency_95_ms: float
    failure: str = ""


def _report_in(interval: float, text: str, arrival: float) -> WorkloadReport | None:
    """Return the report in a line, for the interval before its arrival; None if the line has none."""
    try:
        report = msgspec.json.decode(text, type=_Report)
    except msgspec.MsgspecError:
        return None
    return WorkloadReport(
        monotonic=arrival,
        commits_per_second=report.commits / interval,
        errors_per_second=report.failed / interval,
        latency_95_ms=report.latency_95_ms if report.commits else None,
    )
