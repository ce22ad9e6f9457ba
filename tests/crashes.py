"""Small real crashes, for tests and for the golden logs."""

from __future__ import annotations

from pathlib import Path

from redolab.crash import CrashImage, CrashSpec, make_image
from redolab.dataset import DatasetSpec
from redolab.fill import KillRule
from redolab.lab import Lab, workload_catalogue
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.units import MIB

WORKLOAD = "bulk-update"


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
    spec = CrashSpec(
        dataset=DatasetSpec(
            server=server.name, version=server.version, size=16 * MIB, open_transaction_rows=open_transaction_rows
        ),
        workload=WORKLOAD,
        threads=4,
        kill=KillRule(),
        instance=InstanceRequest(purpose=Purpose.FILL, log_size=log_size, buffer_pool=128 * MIB, binary_log=binary_log),
    )
    return make_image(lab, home, server, workload_catalogue().get(WORKLOAD), spec, every=0.2)
