"""TPC-C by go-tpc, which knows TCP only."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from pymysql.connections import Connection

from redolab.clock import now
from redolab.lab import Lab
from redolab.machine import processes
from redolab.machine.processes import Command, Process
from redolab.machine.tools import Tools
from redolab.servers.instance import Instance, NetworkAddress
from redolab.workloads.contract import DATABASE, Clients, Follow, RunningWorkload, TableCheck
from redolab.workloads.reporting import ReportingRun
from redolab.workloads.tpcc.building import build_go_tpc, built_go_tpc, go_tpc_version
from redolab.workloads.tpcc.checking import check_loaded, check_recovered
from redolab.workloads.tpcc.reports import GoTpcReports
from redolab.workloads.tpcc.tables import BYTES_PER_WAREHOUSE, TpccTables, warehouses_in

_NAME = "go-tpc"
_LOAD_THREADS = 4
_RETRIES = 10
_RETRY_AFTER = "1s"


class GoTpcWorkload(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="go-tpc"
):
    """go-tpc, as the project builds it."""

    about: str

    @property
    def network(self) -> bool:
        """See `Workload`."""
        return True

    @property
    def thinks(self) -> bool:
        """See `Workload`."""
        return True

    @property
    def bytes_per_warehouse(self) -> int | None:
        """See `Workload`."""
        return BYTES_PER_WAREHOUSE

    @property
    def caveats(self) -> Sequence[str]:
        """See `Workload`."""
        return (
            "go-tpc is not TPC-C to the letter: the stock of remote order lines is the home warehouse's, so they cross no "
            "warehouse; transactions are drawn, not dealt from a deck, so the mix varies; percentiles of latency have one "
            "significant digit. Hence NOTPM (New-Order transactions a minute), never tpmC (docs/workloads.md).",
        )

    def content(self) -> str:
        """See `Workload`."""
        return f"{_NAME} {go_tpc_version()}, rows by their keys"

    def require(self, lab: Lab) -> None:
        """See `Workload`: built once, from sources whose hashes are checked."""
        build_go_tpc(lab)

    def data(self, size: int) -> TpccTables:
        """See `Workload`."""
        return TpccTables(warehouses=warehouses_in(size), loaded_by=f"{_NAME} {go_tpc_version()}")

    def schema(self, data: TpccTables) -> Sequence[str]:
        """See `Workload`: go-tpc makes its tables itself."""
        return ()

    def finish(self, data: TpccTables) -> Sequence[str]:
        """See `Workload`."""
        return data.analyzed()

    def load(self, tools: Tools, instance: Instance, data: TpccTables, output: Path) -> Process:
        """See `Workload`: each thread loads every so-manieth district.

        A batch of rows whose connection is lost is inserted again over another. When it has failed too often go-tpc leaves
        it out and goes on: `check_loaded` finds that.
        """
        arguments = [
            *_arguments(tools, data, _LOAD_THREADS),
            *("prepare", "--no-check", f"--retry-count={_RETRIES}", f"--retry-interval={_RETRY_AFTER}"),
        ]
        return processes.start(instance.in_its_network(Command(arguments)), output)

    @contextmanager
    def run(
        self, tools: Tools, instance: Instance, data: TpccTables, clients: Clients, output: Path
    ) -> Iterator[RunningWorkload]:
        """See `Workload`: a transaction that fails, as in a deadlock, is counted, and its client goes on with the next."""
        arguments = [
            *_arguments(tools, data, clients.connections),
            *("run", "--ignore-error", "--output=json", f"--interval={clients.report_every}s"),
            *(["--wait"] if clients.think_time else []),
        ]
        began = now().monotonic
        process = processes.start(instance.in_its_network(Command(arguments)), output)
        try:
            yield ReportingRun(_NAME, process, GoTpcReports(began).moment)
        finally:
            process.stop(signal.SIGKILL)

    def check_loaded(self, connection: Connection, data: TpccTables, follow: Follow) -> list[TableCheck]:
        """See `Workload`: all rows, and all consistency conditions."""
        return check_loaded(connection, data, follow)

    def verify(self, connection: Connection, data: TpccTables, turn: int, follow: Follow) -> list[TableCheck]:
        """See `Workload`: all consistency conditions in the first turn, the quick ones later; one table page by page."""
        return check_recovered(connection, data, turn, follow)


def _arguments(tools: Tools, data: TpccTables, threads: int) -> list[str]:
    address = NetworkAddress()
    return [
        *(str(built_go_tpc(tools)), "tpcc"),
        *(f"--host={address.host}", f"--port={address.port}", f"--user={address.user}", f"--db={DATABASE}"),
        *(f"--warehouses={data.warehouses}", f"--threads={threads}"),
        # It prefers TLS by itself: not what is measured, and old servers have none that Go still speaks.
        "--conn-params=tls=false",
    ]
