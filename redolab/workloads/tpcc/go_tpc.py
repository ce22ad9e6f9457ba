"""TPC-C by go-tpc, which knows TCP only."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from typing_extensions import override

from redolab.clock import now
from redolab.lab import Lab
from redolab.machine import processes
from redolab.machine.processes import Command, Process
from redolab.machine.tools import Tools
from redolab.servers.instance import Instance, NetworkAddress
from redolab.workloads.contract import RunningWorkload
from redolab.workloads.data import DATABASE, Clients
from redolab.workloads.reporting import running
from redolab.workloads.tpcc.base import TpccWorkload
from redolab.workloads.tpcc.reports import GoTpcReports
from redolab.workloads.tpcc.tables import TpccTables
from redolab.workloads.tpcc.tpcc_build import build_go_tpc, built, go_tpc_version

_NAME = "go-tpc"
_LOAD_THREADS = 4
_RETRIES = 10
_RETRY_AFTER = "1s"


class GoTpcWorkload(TpccWorkload, frozen=True, kw_only=True, tag="go-tpc"):
    """go-tpc, as the project builds it."""

    thinks = True
    caveats = (
        "go-tpc is not TPC-C to the letter (docs/workloads.md): its figures are NOTPM (New-Order transactions a minute), never tpmC; "
        "percentiles of latency have one significant digit.",
    )

    @override
    def content(self) -> str:
        return f"{self.loaded_by}, rows by their keys"

    @override
    def require(self, lab: Lab) -> None:
        """Build it once, from sources whose hashes are checked."""
        build_go_tpc(lab)

    @property
    @override
    def loaded_by(self) -> str:
        return f"{_NAME} {go_tpc_version()}"

    @override
    def load(self, tools: Tools, instance: Instance, data: TpccTables, output: Path) -> Process:
        """Start the load; the threads share the districts.

        go-tpc retries a batch of rows over another connection. After too many failures it leaves the batch out and
        goes on, which `check_loaded` detects.
        """
        arguments = [
            *_arguments(tools, data, _LOAD_THREADS),
            *("prepare", "--no-check", f"--retry-count={_RETRIES}", f"--retry-interval={_RETRY_AFTER}"),
        ]
        return processes.start(instance.in_its_network(Command(arguments)), output)

    @override
    def run(
        self, tools: Tools, instance: Instance, data: TpccTables, clients: Clients, output: Path
    ) -> AbstractContextManager[RunningWorkload]:
        """Start the clients. A transaction that fails, as in a deadlock, is counted, and its client goes on."""
        arguments = [
            *_arguments(tools, data, clients.connections),
            *("run", "--ignore-error", "--output=json", f"--interval={clients.report_every}s"),
            *(["--wait"] if clients.think_time else []),
        ]
        command = instance.in_its_network(Command(arguments))
        return running(_NAME, command, output, GoTpcReports(now().monotonic).report_in)


def _arguments(tools: Tools, data: TpccTables, threads: int) -> list[str]:
    address = NetworkAddress()
    return [
        *(str(built(tools, _NAME)), "tpcc"),
        *(f"--host={address.host}", f"--port={address.port}", f"--user={address.user}", f"--db={DATABASE}"),
        *(f"--warehouses={data.warehouses}", f"--threads={threads}"),
        # go-tpc prefers TLS, which is not under test; old servers have no TLS that Go still speaks.
        "--conn-params=tls=false",
    ]
