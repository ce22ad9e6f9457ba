"""Small real crashes, for tests and for the golden logs."""

from __future__ import annotations

from redolab.crash.crash import CrashLoad, WantedState, crash_images
from redolab.crash.records.crash import CrashImage, CrashSpec
from redolab.crash.records.dataset import DatasetSpec
from redolab.crash.records.kill_rule import KillRule
from redolab.lab import Lab
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.units import MIB
from redolab.workloads.catalogue import workload_catalogue
from redolab.workloads.contract import Workload

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
    server: InstalledServer,
    *,
    log_size: int = 32 * MIB,
    open_transaction_rows: int = 5000,
    binary_log: bool = False,
    prepared_transactions: int = 0,
) -> CrashImage:
    """A crash that takes seconds."""
    workload = workload_catalogue().get(WORKLOAD)
    spec = CrashSpec(
        dataset=small_dataset(server, workload, open_transaction_rows),
        workload=WORKLOAD,
        threads=4,
        # Well below the highest: a log as small as this is there for a moment only, and the next sample is seconds later.
        kill=KillRule(age_fraction=0.9),
        prepared_transactions=prepared_transactions,
        instance=InstanceRequest(purpose=Purpose.FILL, log_size=log_size, buffer_pool=128 * MIB, binary_log=binary_log),
    )
    load = CrashLoad(server=server, workload=workload, wanted=[WantedState(spec=spec)], sample_every=0.2)
    (image,) = crash_images(lab, load)
    return image
