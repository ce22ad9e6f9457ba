"""Translation of a wanted crash into its spec, with the lab's usual sizes as defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import xxhash

from redolab.crash.records.binary_log_end import BinaryLogEnd
from redolab.crash.records.crash import KILL, CrashSpec
from redolab.crash.records.dataset import DatasetSpec
from redolab.crash.records.kill_rule import HIGHEST_AGE, KillRule
from redolab.disks.catalogue import storage_profile
from redolab.disks.profiles import HOME, StorageProfile, storage_figures
from redolab.servers.dialects import InstanceRequest, Purpose, Setting
from redolab.servers.install import InstalledServer
from redolab.servers.sizes import default_dataset, fill_pool
from redolab.workloads.catalogue import workload_catalogue
from redolab.workloads.contract import Workload


def made_with(workload: Workload, settings: Sequence[Setting], storage: StorageProfile | None = None) -> str:
    """Return the hash for a `CrashSpec` of everything with an effect: no reason, comment or description.

    `storage`: profile under the load; None: the lab's own disk.
    """
    figures = None if storage is None else storage_figures(storage)
    values = [(setting.name, setting.value) for setting in settings]
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode([workload.content(), values, figures]))


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCrash:
    """A wanted crash; sizes in bytes."""

    log_size: int
    dataset: int | None = None
    """Size of the dataset; None: as large as fits the log."""
    workload: str = "bulk-update"
    threads: int = 8
    think_time: bool = False
    pool_dump: bool = False
    """True if the buffer pool is dumped right before the crash."""
    kill: KillRule = HIGHEST_AGE
    open_transaction_rows: int = 100_000
    trx_commit: int = 1
    binary_log: bool = False
    sync_binlog: int | None = None
    """sync_binlog; None: the version's default."""
    empty_tables: int = 0
    prepared_transactions: int = 0
    page_size: int | None = None
    own_files: bool = True
    """True if each table has a file of its own."""
    purpose: Purpose = Purpose.FILL
    """Flushing while the log fills: FILL holds it back, PRODUCTION does not."""
    fill_pool: int | None = None
    """Buffer pool while the log fills; None: large enough that the log alone decides when pages are flushed."""
    overrides: tuple[Setting, ...] = ()
    """Settings that take the place of the lab's own while the log fills."""
    without: tuple[str, ...] = ()
    """Settings of the lab that are left out while the log fills."""
    number: int = 1
    """Number of this crash among several with the same spec."""
    storage: str = HOME
    """The storage profile on which the server is under load."""
    crash: str = KILL
    """The kind of crash."""
    binary_log_end: BinaryLogEnd | None = None
    """End that the binary log is to have."""

    def dataset_size(self, log_size: int) -> int:
        """Return the bytes of the tables with a redo log of `log_size` bytes."""
        per_warehouse = workload_catalogue().get(self.workload).bytes_per_warehouse
        # Less than a warehouse cannot be had.
        return max(self.dataset or default_dataset(log_size), per_warehouse or 0)

    def buffer_pool(self, log_size: int) -> int:
        """Return the bytes of the buffer pool under load with a redo log of `log_size` bytes."""
        return self.fill_pool or fill_pool(self.dataset_size(log_size), log_size)


def crash_spec(server: InstalledServer, wanted: WantedCrash) -> CrashSpec:
    """Return the spec of the crash, with the server's largest log if the wanted one is larger."""
    log_size = server.dialect.layout(min(wanted.log_size, server.dialect.largest_log)).size
    workload = workload_catalogue().get(wanted.workload)
    size = wanted.dataset_size(log_size)
    request = InstanceRequest(
        purpose=wanted.purpose,
        log_size=log_size,
        buffer_pool=wanted.buffer_pool(log_size),
        flush_log_at_trx_commit=wanted.trx_commit,
        binary_log=wanted.binary_log,
        sync_binlog=wanted.sync_binlog,
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
        crash=wanted.crash,
        binary_log_end=wanted.binary_log_end,
    )
