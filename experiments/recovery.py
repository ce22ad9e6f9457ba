"""How long does crash recovery take with a redo log of this size, on each storage, with each buffer pool?"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from pathlib import Path

from redolab.crash import CrashImage, CrashSpec, ImageStore, make_image
from redolab.dataset import SMALLEST_DATASET, DatasetSpec, default_dataset_size, remove_dataset
from redolab.doctor import disk_needed
from redolab.errors import DiskFull, InvalidInput
from redolab.experiments import Experiment, factor, on_or_off, one_of, several, whole_number, words
from redolab.fill import KillRule
from redolab.lab import Lab, open_lab, server_catalogue, storage_catalogue, workload_catalogue
from redolab.machine import read_machine
from redolab.progress import Progress
from redolab.recovery_run import RecoveryCell, check_memory, reported, run_recoveries
from redolab.results import RunStore, lab_commit
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.units import MIB, format_size, parse_duration, parse_size

SMALLEST_POOL = 32 * MIB


def _server_names(text: str) -> tuple[str, ...]:
    """The reading of SERVER=. Raises `InvalidInput`."""
    names = server_catalogue().names()
    return tuple(names) if text == "all" else several(one_of("server", lambda: names))(text)


@dataclass(frozen=True, kw_only=True)
class Factors:
    """What can be chosen; sizes in bytes, times in seconds."""

    log_size: tuple[int, ...] = factor("Redo log sizes, with commas.", several(parse_size), "1G")
    server: tuple[str, ...] = factor(
        "Servers, with commas; all for every one (with its largest log where the size is beyond it).",
        _server_names,
        "mariadb-10.11",
    )
    storage: tuple[str, ...] = factor(
        "Storage profiles to recover on, with commas.",
        several(one_of("storage profile", lambda: storage_catalogue().names())),
        "native",
    )
    pool: tuple[int, ...] | None = factor(
        "Buffer pool sizes to recover with, with commas (default: as the server that crashed had).",
        several(parse_size),
    )
    workload: str = factor(
        "What fills the log.", one_of("workload", lambda: workload_catalogue().names()), "bulk-update"
    )
    repeat: int = factor("Recoveries of each image, storage and pool.", whole_number(1, 1000), "3")
    dataset: int | None = factor("Size of the tables (default: half of the log, at least 64M).", parse_size)
    threads: int = factor("Clients of the workload.", whole_number(1, 1024), "8")
    kill_at: str | None = factor(
        "Kill at this share of the usable redo capacity, as in 75% (default: where the server forces flushing).",
        str,
    )
    kill_after: float | None = factor("Kill after so long instead, as in 30m.", parse_duration)
    open_transaction: int = factor(
        "Rows changed by a transaction that is open at the kill; 0 for none.",
        whole_number(0, 100_000_000),
        "100000",
    )
    trx_commit: int = factor("innodb_flush_log_at_trx_commit.", whole_number(0, 2), "1")
    binary_log: bool = factor("Whether the binary log is on.", on_or_off, "off")
    sample_every: float = factor("Time between two samples of the counters, 0.1s to 60s.", parse_duration, "1s")
    new_crash: bool = factor("Crash anew even if a crash image made to the same plan is kept.", on_or_off, "off")
    keep: bool = factor("Keep datasets and crash images for later runs.", on_or_off, "on")
    provider: str = factor("Where: local is this machine.", one_of("provider", lambda: ["local"]), "local")

    def check(self) -> None:
        """Refuse what makes no sense, before anything is started. Raises `InvalidInput`."""
        for name, size in itertools.product(self.server, self.log_size):
            dialect = server_catalogue().get(name).dialect()
            if size < dialect.smallest_log:
                raise InvalidInput(
                    f"a redo log of {format_size(size)} is too small for {name}",
                    f"it takes {format_size(dialect.smallest_log)} and more",
                )
            if size > dialect.largest_log and len(self.server) == 1:
                raise InvalidInput(
                    f"a redo log of {format_size(size)} is too large for {name}",
                    f"it takes {dialect.largest_log // MIB}M at most",
                )
        for pool in self.pool or ():
            if pool < SMALLEST_POOL:
                raise InvalidInput(
                    f"a buffer pool of {format_size(pool)} is too small",
                    f"give it {format_size(SMALLEST_POOL)} or more",
                )
        if self.dataset is not None and self.dataset < SMALLEST_DATASET:
            raise InvalidInput(
                f"a dataset of {format_size(self.dataset)} is too small",
                f"give it {format_size(SMALLEST_DATASET)} or more",
            )
        if not 0.1 <= self.sample_every <= 60:
            raise InvalidInput(f"a sample every {self.sample_every} s is not possible", "choose 0.1s to 60s")
        KillRule.from_options(self.kill_at, self.kill_after)


def run(factors: Factors, progress: Progress) -> None:
    """Make what crash images are needed, recover each on every storage with every pool, and show the table."""
    factors.check()
    store = RunStore()
    with (
        open_lab(progress, store.clear_unfinished) as lab,
        storage_catalogue().get("native").attach(lab.host, lab.folder) as home,
    ):
        _check_room(lab, home, factors)
        check_memory(lab.host, home, _pools(factors))
        servers = [lab.server(name) for name in factors.server]
        machine = read_machine(lab.host, home)
        given = {name: words(value) for name, value in asdict(factors).items() if value is not None}
        record = store.create("recovery", given, machine, lab_commit(lab.host))
        with store.running(record, progress.seconds), reported(lab, record):
            images = ImageStore(lab.host, home)
            for server, log_size in itertools.product(servers, factors.log_size):
                spec = _crash(server, min(log_size, server.dialect.largest_log), factors)
                image = _image(lab, home, server, spec, factors)
                pools = factors.pool or [spec.instance.buffer_pool]
                cells = itertools.product([image], [server], factors.storage, pools, [factors.repeat])
                run_recoveries(lab, record, images, itertools.starmap(RecoveryCell, cells))
                if not factors.keep:
                    images.remove(image.name)
                    remove_dataset(lab, home, spec.dataset)


def _image(lab: Lab, home: Path, server: InstalledServer, spec: CrashSpec, factors: Factors) -> CrashImage:
    kept = None if factors.new_crash else ImageStore(lab.host, home).find(spec)
    if kept is not None:
        lab.progress.note(f"crash image {kept.name}: made to this very plan earlier (NEWCRASH=on makes another)")
        return kept
    return make_image(lab, home, server, workload_catalogue().get(factors.workload), spec, factors.sample_every)


def _crash(server: InstalledServer, log_size: int, factors: Factors) -> CrashSpec:
    dataset = DatasetSpec(
        server=server.name,
        version=server.version,
        size=_dataset_size(log_size, factors),
        open_transaction_rows=factors.open_transaction,
    )
    return CrashSpec(
        dataset=dataset,
        workload=factors.workload,
        threads=factors.threads,
        kill=KillRule.from_options(factors.kill_at, factors.kill_after),
        instance=InstanceRequest(
            purpose=Purpose.FILL,
            log_size=log_size,
            buffer_pool=_fill_pool(dataset.size),
            flush_log_at_trx_commit=factors.trx_commit,
            binary_log=factors.binary_log,
        ),
    )


def _dataset_size(log_size: int, factors: Factors) -> int:
    return factors.dataset or default_dataset_size(log_size)


def _fill_pool(dataset: int) -> int:
    """Room for every page of the dataset to be dirty at once, so that the pool does not force pages out before the log does."""
    return max(128 * MIB, dataset * 3 // 2)


def _pools(factors: Factors) -> list[int]:
    fill = [_fill_pool(_dataset_size(log_size, factors)) for log_size in factors.log_size]
    return [*fill, *(factors.pool or ())]


def _check_room(lab: Lab, home: Path, factors: Factors) -> None:
    """Refuse a plan for which the disk has no room, what is kept being used again. Raises `DiskFull`."""
    each = [
        disk_needed(log_size, _dataset_size(log_size, factors), len(factors.server) if factors.keep else 1)
        for log_size in factors.log_size
    ]
    needed = sum(each) if factors.keep else max(each)
    there = lab.host.files.free_space(home) + lab.host.files.folder_size(home)
    if needed > there:
        sizes = ", ".join(format_size(size) for size in factors.log_size)
        raise DiskFull(
            f"a redo log of {sizes} with dataset, crash image and copy needs about {format_size(needed)} "
            f"and the disk under {home} has {format_size(there)} for the lab",
            "choose a smaller LOGSIZE, or KEEP=off to keep no crash images",
        )


EXPERIMENT = Experiment(question=__doc__.strip(), factors=Factors, run=run)
