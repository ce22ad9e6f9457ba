"""Small real crashes, for tests and for the golden logs."""

from __future__ import annotations

from pathlib import Path

from redolab.crashes.crash import make_image
from redolab.crashes.dataset import DatasetSpec
from redolab.crashes.fill import KillRule
from redolab.crashes.images import CrashImage, CrashSpec
from redolab.lab import Lab
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.units import MIB
from redolab.workloads.contract import Workload
from redolab.workloads.known import workload_catalogue

WORKLOAD = "bulk-update"


def small_dataset(server: InstalledServer, workload: Workload, open_transaction_rows: int = 5000) -> DatasetSpec:
    """A dataset that is loaded in seconds."""
    return DatasetSpec(
        server=server.name,
        version=server.version,
        size=16 * MIB,
        data=workload.data(16 * MIB),
        open_transaction_rows=open_transaction_rows,
    )


def small_crash(
    lab: Lab,
    home: Path,
    server: InstalledServer,
    *,
    log_size: int = 32 * MIB,
    open_transaction_rows: int = 5000,
    binary_log: bool = False,
) -> CrashImage:
    """A crash that takes seconds."""
    workload = workload_catalogue().get(WORKLOAD)
    spec = CrashSpec(
        dataset=small_dataset(server, workload, open_transaction_rows),
        workload=WORKLOAD,
        threads=4,
        kill=KillRule(),
        instance=InstanceRequest(purpose=Purpose.FILL, log_size=log_size, buffer_pool=128 * MIB, binary_log=binary_log),
    )
    return make_image(lab, home, server, workload, spec, every=0.2)
