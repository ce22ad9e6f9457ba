"""From what is wanted of a crash to the spec that makes it, with the lab's usual sizes where none is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from redolab.crashes.bench import SMALLER
from redolab.crashes.dataset import SMALLEST_DATASET, DatasetSpec
from redolab.crashes.fill import KillRule
from redolab.crashes.images import CrashSpec, made_with
from redolab.crashes.warm import WINDOW
from redolab.errors import InvalidInput
from redolab.models.sizes import default_dataset, default_pool, fill_pool
from redolab.runs.room import Needs, check_room
from redolab.servers.dialects import InstanceRequest, Purpose, Setting
from redolab.servers.install import InstalledServer
from redolab.storage.known import HOME, storage_profile
from redolab.units import MIB, format_size
from redolab.workloads.known import workload_catalogue

SMALLEST_POOL = 32 * MIB
LOADS_POOL = "innodb_buffer_pool_load_at_startup=1"
"""What is set of a recovering server that is to load the buffer pool that was dumped before the crash."""
_SMALL_POOL_SHARE = 4
_SHORTEST_WARM_UP = 2 * WINDOW
"""Seconds: in less no whole window would end after the clients have begun."""
_LONGEST_WARM_UP = 6 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCrash:
    """A crash as it is asked for; sizes in bytes."""

    log_size: int
    dataset: int | None = None
    """None: as large as fits the log."""
    workload: str = "bulk-update"
    warehouses: int | None = None
    """Of TPC-C: instead of the dataset's size."""
    threads: int = 8
    think_time: bool = False
    pool_dump: bool = False
    """Whether the buffer pool is dumped right before the crash."""
    kill: KillRule = field(default_factory=KillRule)
    open_transaction_rows: int = 100_000
    trx_commit: int = 1
    binary_log: bool = False
    empty_tables: int = 0
    prepared_transactions: int = 0
    page_size: int | None = None
    own_files: bool = True
    """Whether each table has a file of its own."""
    purpose: Purpose = Purpose.FILL
    """How it flushes while the log fills: FILL holds flushing back, PRODUCTION does not."""
    fill_pool: int | None = None
    """Buffer pool while the log fills; None: one in which the log and not the pool decides when pages are flushed."""
    overrides: tuple[Setting, ...] = ()
    """Settings that take the place of the lab's own while the log fills."""
    without: tuple[str, ...] = ()
    """The lab's own settings that are left out meanwhile."""
    number: int = 1
    """Which of several made alike."""
    storage: str = HOME
    """The storage profile on which the server is under load."""

    def dataset_size(self, log_size: int) -> int:
        """Bytes of its tables with a log of so many bytes."""
        per_warehouse = workload_catalogue().get(self.workload).bytes_per_warehouse
        if self.warehouses is not None and per_warehouse is not None:
            return self.warehouses * per_warehouse
        # Less than a warehouse cannot be had.
        return max(self.dataset or default_dataset(log_size), per_warehouse or 0)


def crash_spec(server: InstalledServer, wanted: WantedCrash) -> CrashSpec:
    """What makes that crash, with the largest log that the server takes where the one wanted is beyond it."""
    log_size = server.dialect.layout(min(wanted.log_size, server.dialect.largest_log)).size
    workload = workload_catalogue().get(wanted.workload)
    size = wanted.dataset_size(log_size)
    request = InstanceRequest(
        purpose=wanted.purpose,
        log_size=log_size,
        buffer_pool=wanted.fill_pool or fill_pool(size, log_size),
        flush_log_at_trx_commit=wanted.trx_commit,
        binary_log=wanted.binary_log,
        page_size=wanted.page_size,
        network=workload.network,
        overrides=wanted.overrides,
        without=wanted.without,
    )
    return CrashSpec(
        dataset=DatasetSpec(
            server=server.name,
            version=server.version,
            size=size,
            data=workload.data(size),
            open_transaction_rows=wanted.open_transaction_rows,
            empty_tables=wanted.empty_tables,
            page_size=wanted.page_size,
            own_files=wanted.own_files,
        ),
        workload=wanted.workload,
        threads=wanted.threads,
        kill=wanted.kill,
        instance=request,
        made_with=made_with(
            workload,
            server.dialect.settings(request),
            None if wanted.storage == HOME else storage_profile(wanted.storage),
        ),
        prepared_transactions=wanted.prepared_transactions,
        number=wanted.number,
        think_time=wanted.think_time,
        pool_dump=wanted.pool_dump,
        storage=wanted.storage,
    )


def check_load(workload: str, *, warehouses: int | None, dataset: int | None, think_time: bool) -> None:
    """Raises `InvalidInput` if a workload does not have what is asked of it."""
    known = workload_catalogue().get(workload)
    if warehouses is not None and known.bytes_per_warehouse is None:
        raise InvalidInput(f"{workload} has no warehouses", "WORKLOAD=tpcc has, or give a DATASET")
    if warehouses is not None and dataset is not None:
        raise InvalidInput("warehouses and a dataset's size exclude each other", "give one of them")
    if dataset is not None and dataset < SMALLEST_DATASET:
        raise InvalidInput(
            f"a dataset of {format_size(dataset)} is too small", f"give it {format_size(SMALLEST_DATASET)} or more"
        )
    if think_time and not known.thinks:
        raise InvalidInput(f"{workload} has no think time", "WORKLOAD=tpcc has")


def check_pool(size: int) -> None:
    """Raises `InvalidInput` for a buffer pool that no server starts with."""
    if size < SMALLEST_POOL:
        raise InvalidInput(
            f"a buffer pool of {format_size(size)} is too small", f"give it {format_size(SMALLEST_POOL)} or more"
        )


def check_warm_up(seconds: float) -> None:
    """Raises `InvalidInput` if clients cannot be followed for so long after a recovery."""
    if seconds and not _SHORTEST_WARM_UP <= seconds <= _LONGEST_WARM_UP:
        raise InvalidInput(
            f"clients cannot be followed for {seconds:g} s", f"choose 0s, or {_SHORTEST_WARM_UP:g}s to 6h"
        )


def usual_pools(spec: CrashSpec) -> tuple[int, ...]:
    """One that holds all pages of the tables, and a quarter of the log, which needs more batches."""
    small = max(SMALLEST_POOL, spec.instance.log_size // _SMALL_POOL_SHARE)
    return tuple(dict.fromkeys((default_pool(spec.dataset.size), small)))


def check_memory(wanted: Iterable[WantedCrash], pools: Iterable[int]) -> None:
    """Refuse pools that cannot be had, before a server is fetched. Raises `LabError`."""
    filling = [each.fill_pool or fill_pool(each.dataset_size(each.log_size), each.log_size) for each in wanted]
    largest = max([*filling, *pools])
    check_room(Needs(memory=largest, memory_for=f"a buffer pool of {format_size(largest)}", remedy=SMALLER))
