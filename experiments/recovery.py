"""How long does crash recovery take with a redo log of this size, on each storage, with each buffer pool?"""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from pathlib import Path

from redolab.crash import CrashImage, CrashSpec, ImageStore, made_with, make_image
from redolab.dataset import SMALLEST_DATASET, DatasetSpec, default_dataset_size, fill_pool, find_dataset, remove_dataset
from redolab.doctor import disk_needed
from redolab.errors import DiskFull, InvalidInput
from redolab.experiments import Experiment, factor, on_or_off, one_of, server_names, several, whole_number, words
from redolab.fill import KillRule
from redolab.lab import HOME, Lab, open_lab, server_catalogue, storage_catalogue, workload_catalogue
from redolab.machine import read_machine
from redolab.progress import Progress
from redolab.recovery_run import RecoveryCell, check_kept, check_memory, report, run_recoveries
from redolab.reporting import reported
from redolab.results import Run, RunStore, lab_commit
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.units import MIB, format_size, parse_duration, parse_size

SMALLEST_POOL = 32 * MIB


@dataclass(frozen=True, kw_only=True)
class Factors:
    """What can be chosen; sizes in bytes, times in seconds."""

    log_size: tuple[int, ...] = factor("Redo log sizes, with commas.", several(parse_size), "1G")
    server: tuple[str, ...] = factor(
        "Servers, with commas; all for every one (with its largest log where the size is beyond it).",
        server_names,
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
        "Kill at this checkpoint age, as in 2G, or share of the usable capacity, as in 75% (default: where flushing is forced).",
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
        storage_catalogue().get(HOME).attach(lab.host, lab.folder) as home,
    ):
        for log_size in factors.log_size:
            _check_room(lab, home, factors, log_size, missing=0)
        check_memory(lab.host, home, _pools(factors))
        planned = _plan([lab.server(name) for name in factors.server], factors)
        images = ImageStore(lab.host, home)
        missing = [spec for _, spec in planned if factors.new_crash or images.find(spec) is None]
        for spec in missing:
            made_at_once = len(missing) if factors.keep else 1
            _check_room(lab, home, factors, spec.instance.log_size, missing=made_at_once)
        given = {name: words(value) for name, value in asdict(factors).items() if value is not None}
        record = store.create(
            "recovery", given, read_machine(lab.host, home), lab_commit(lab.host), lab.tools.versions()
        )
        with store.running(record, progress.seconds), reported(lab, record, report):
            for server, spec in planned:
                _measure(lab, home, record, server, spec, factors)


def _plan(servers: list[InstalledServer], factors: Factors) -> list[tuple[InstalledServer, CrashSpec]]:
    """The crashes that are needed, each with the largest log that its server can have within what was asked for."""
    planned = []
    for server, log_size in itertools.product(servers, factors.log_size):
        possible = server.dialect.layout(min(log_size, server.dialect.largest_log)).size
        crash = (server, _crash(server, possible, factors))
        if crash not in planned:
            planned.append(crash)
    return planned


def _measure(lab: Lab, home: Path, run: Run, server: InstalledServer, spec: CrashSpec, factors: Factors) -> None:
    """All recoveries of one crash; what was made for it goes again if it is not to be kept."""
    images = ImageStore(lab.host, home)
    kept_image = None if factors.new_crash else images.find(spec)
    had_dataset = find_dataset(lab, home, spec.dataset) is not None
    made: CrashImage | None = None
    try:
        if kept_image is not None:
            lab.progress.note(
                f"crash image {kept_image.name}: made to this very plan earlier (NEWCRASH=on makes another)"
            )
            check_kept(lab, images, kept_image)
        else:
            workload = workload_catalogue().get(factors.workload)
            made = make_image(lab, home, server, workload, spec, factors.sample_every, run.keep_failed)
        image = kept_image or made
        assert image is not None
        pools = factors.pool or [spec.instance.buffer_pool]
        cells = itertools.product([image], [server], factors.storage, pools, [factors.repeat])
        run_recoveries(lab, run, images, itertools.starmap(RecoveryCell, cells))
    finally:
        if not factors.keep:
            if made is not None:
                images.remove(made.name)
            if not had_dataset:
                remove_dataset(lab, home, spec.dataset)


def _crash(server: InstalledServer, log_size: int, factors: Factors) -> CrashSpec:
    dataset = DatasetSpec(
        server=server.name,
        version=server.version,
        size=_dataset_size(log_size, factors),
        open_transaction_rows=factors.open_transaction,
    )
    request = InstanceRequest(
        purpose=Purpose.FILL,
        log_size=log_size,
        buffer_pool=fill_pool(dataset.size),
        flush_log_at_trx_commit=factors.trx_commit,
        binary_log=factors.binary_log,
    )
    return CrashSpec(
        dataset=dataset,
        workload=factors.workload,
        threads=factors.threads,
        kill=KillRule.from_options(factors.kill_at, factors.kill_after),
        instance=request,
        made_with=made_with(workload_catalogue().get(factors.workload), server.dialect.settings(request)),
    )


def _dataset_size(log_size: int, factors: Factors) -> int:
    return factors.dataset or default_dataset_size(log_size)


def _pools(factors: Factors) -> list[int]:
    fill = [fill_pool(_dataset_size(log_size, factors)) for log_size in factors.log_size]
    return [*fill, *(factors.pool or ())]


def _check_room(lab: Lab, home: Path, factors: Factors, log_size: int, missing: int) -> None:
    """Refuse a plan for which the disk has no room: so many crash images that are still to be made. Raises `DiskFull`."""
    needed = disk_needed(log_size, _dataset_size(log_size, factors), missing)
    if factors.binary_log:
        needed += log_size
    free = lab.host.files.free_space(home)
    if needed > free:
        raise DiskFull(
            f"a redo log of {format_size(log_size)} with dataset, crash image and copy needs about "
            f"{format_size(needed)} and the disk under {home} has {format_size(free)} free",
            "choose a smaller LOGSIZE, remove crash images ('redolab images'), or KEEP=off to keep none",
        )


EXPERIMENT = Experiment(question=__doc__.strip(), factors=Factors, run=run, report=report)
