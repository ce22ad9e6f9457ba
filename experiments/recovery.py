"""How long does crash recovery take with a redo log of this size, on each storage, with each buffer pool?"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from redolab.crash import CrashSpec, ImageStore, made_with
from redolab.dataset import SMALLEST_DATASET, DatasetSpec, default_dataset_size, fill_pool
from redolab.doctor import disk_needed
from redolab.errors import DiskFull, InvalidInput
from redolab.experiments import (
    Experiment,
    factor,
    on_or_off,
    one_of,
    server_names,
    several,
    storage_name,
    whole_number,
    words,
)
from redolab.fill import KillRule
from redolab.lab import Lab, open_lab, server_catalogue, storage_profile, workload_catalogue
from redolab.plan import PlannedCrash, RecoveryPlan, draw_plan
from redolab.progress import Progress
from redolab.recovery_run import (
    check_memory,
    check_plan,
    missing_crashes,
    planned_in_words,
    resume_run,
    staged_sizes,
    start_run,
)
from redolab.report.plan_table import plan_table
from redolab.report.recovery_report import report
from redolab.results import RunStore
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.storage import StorageProfile
from redolab.storage.attaching import check_possible
from redolab.storage.fio import FILES_SIZE
from redolab.storage.lab_disk import size_for
from redolab.storage.modelled import ModelledDisk
from redolab.units import MIB, format_size, parse_duration, parse_size

SMALLEST_POOL = 32 * MIB
_SMALL_POOL_SHARE = 4
_SEEDS = 1_000_000


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
        "Storage profiles to recover on ('redolab storage list'), or folders as in /mnt/fast, with commas.",
        several(storage_name),
        "native",
    )
    pool: tuple[int, ...] | None = factor(
        "Buffer pool sizes to recover with, with commas (default: as the server that crashed had, and a quarter of the log).",
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
    seed: int | None = factor(
        "Of the random order of the recoveries (default: drawn, and kept).", whole_number(0, _SEEDS - 1)
    )
    check_disks: bool = factor("Have fio look at every storage before, once.", on_or_off, "on")
    plan: bool = factor("Only show what would be done: cells, disk space, time.", on_or_off, "off", switch=True)
    resume: str | None = factor("Go on with this run, which was stopped; nothing else is asked then.", str)
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

    def profiles(self) -> dict[str, StorageProfile]:
        """The storages by name."""
        return {name: storage_profile(name) for name in self.storage}


def run(factors: Factors, progress: Progress) -> None:
    """Make what crash images are needed, recover each on every storage with every pool, and show the table."""
    if factors.resume is not None:
        resume_run(factors.resume, progress)
        return
    factors.check()
    store = RunStore()
    with open_lab(progress, store.clear_unfinished) as lab:
        check_possible(lab.host, factors.profiles())
        for log_size in factors.log_size:
            _check_room(lab, factors, log_size, missing=0)
        check_memory(lab.host, lab.home, _pools(factors))
        plan = _plan([lab.server(name) for name in factors.server], factors)
        images = ImageStore(lab.host, lab.home)
        missing = missing_crashes(images, plan)
        progress.note(planned_in_words(plan, missing))
        for crash in plan.crashes:
            made_at_once = len(missing) if factors.keep else min(1, len(missing))
            _check_room(lab, factors, crash.spec.instance.log_size, missing=made_at_once)
        check_plan(lab, plan)
        if factors.plan:
            progress.console.print()
            plan_table(plan, images, _room(factors, plan, len(missing))).show(progress.console)
            return
        given = {name: words(value) for name, value in asdict(factors).items() if value is not None}
        start_run(lab, store, {**given, "seed": str(plan.seed)}, plan)


def _plan(servers: Sequence[InstalledServer], factors: Factors) -> RecoveryPlan:
    """Every crash that is to be recovered once, at the largest log its server takes, and its recoveries."""
    crashes: list[PlannedCrash] = []
    for server, log_size in itertools.product(servers, factors.log_size):
        spec = _crash(server, server.dialect.layout(min(log_size, server.dialect.largest_log)).size, factors)
        planned = PlannedCrash(server=server.name, spec=spec, pools=factors.pool or _default_pools(spec))
        if planned not in crashes:
            crashes.append(planned)
    return draw_plan(
        crashes,
        factors.profiles(),
        factors.repeat,
        secrets.randbelow(_SEEDS) if factors.seed is None else factors.seed,
        sample_every=factors.sample_every,
        new_crash=factors.new_crash,
        keep=factors.keep,
        check_disks=factors.check_disks,
    )


def _default_pools(spec: CrashSpec) -> tuple[int, ...]:
    """As the server that crashed had, and one that cannot hold in one batch what has to be applied."""
    small = max(SMALLEST_POOL, spec.instance.log_size // _SMALL_POOL_SHARE)
    return tuple(dict.fromkeys((spec.instance.buffer_pool, small)))


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


def _check_room(lab: Lab, factors: Factors, log_size: int, missing: int) -> None:
    """Refuse a plan for which the disk has no room: so many crash images that are still to be made. Raises `DiskFull`."""
    needed = _room_for(factors, log_size, missing)
    free = lab.host.files.free_space(lab.home)
    if needed > free:
        raise DiskFull(
            f"a redo log of {format_size(log_size)} with dataset, crash image and copies needs about "
            f"{format_size(needed)} and the disk under {lab.home} has {format_size(free)} free",
            "choose a smaller LOGSIZE, remove crash images ('redolab images'), or KEEP=off to keep none",
        )


def _room_for(factors: Factors, log_size: int, missing: int) -> int:
    needed = disk_needed(log_size, _dataset_size(log_size, factors), missing)
    return needed + log_size if factors.binary_log else needed


def _room(factors: Factors, plan: RecoveryPlan, missing: int) -> int:
    """Bytes of the lab's own disk that the whole plan takes at most."""
    largest = max(crash.spec.instance.log_size for crash in plan.crashes)
    needed = _room_for(factors, largest, missing if factors.keep else min(1, missing))
    if any(isinstance(profile, ModelledDisk) for profile in plan.storages.values()):
        needed += sum(size_for(image) for image in staged_sizes(plan)) + FILES_SIZE
    return needed


EXPERIMENT = Experiment(question=__doc__.strip(), factors=Factors, run=run, report=report)
