"""Rows of a recovery run, one for each configuration: the numbers of its tables, also for programs."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from redolab.errorlog import Phase
from redolab.errors import LabError
from redolab.machine.facts import DeviceUse
from redolab.models.bound import Bound, bound_by
from redolab.models.intervals import median_of_known
from redolab.records.alike import grouped
from redolab.records.crash import undo_pages
from redolab.records.plan import CrashPlan
from redolab.records.recovery import Outcome, RecoveryTrial, WarmTime
from redolab.results.alike import Keyed
from redolab.results.recoveries import median_back
from redolab.runs.store import Run

CellKey: TypeAlias = tuple[str, int, str, int, str]
"""Server, log size in bytes, storage, buffer pool in bytes, requested settings."""
_PHASES = tuple(Phase)
BAD = tuple(outcome for outcome in Outcome if outcome is not Outcome.READY)
_DECIDED_BY: Mapping[Bound, Collection[str]] = {
    Bound.SCAN: ("sequential_mb_s",),
    Bound.RANDOM_READS: ("read_us", "queued_reads_per_s"),
    # fio asks for no queued writes: a limit on requests shows in its queued reads.
    Bound.WRITES: ("write_us", "queued_reads_per_s"),
}
"""Bound of a recovery → figures of the disk that decide it (`redolab.storage.figures`); the CPU's bounds have none."""


@dataclass(frozen=True, slots=True)
class RecoveryRow:
    """One configuration: `n` comparable recoveries with one pool on one storage. Sizes in bytes, times in seconds.

    The phases, and the properties of the crash, are those of the recovery with the time to ready nearest to the median.
    """

    machine: str
    """Name of the machine: rows of two machines are never pooled."""
    server: str
    version: str
    storage: str
    log_size_bytes: int
    buffer_pool_bytes: int
    settings: str
    """Settings beyond the lab's own, as in `innodb_read_io_threads=16`."""
    crash: str
    """Kind of crash."""
    dataset_bytes: int
    redo_from_recovery_bytes: int | None
    redo_from_last_sample_bytes: int | None
    dirty_pages: int | None
    undo_pages: int | None
    """Pages by which files with undo grew under load: at most that many dirty pages are undo."""
    pages_read: int | None
    """Pages that the server had read from its files at ready: pages to recover, and those that its start reads.

    None after more than one batch, since its counter restarts with each.
    """
    pages_recovered: int | None
    n: int
    """Number of recoveries that ended in a ready server; all times are theirs."""
    crashes: int
    """Number of comparable crashes."""
    wrong: int
    """Number of these whose tables failed a consistency check."""
    bad: Mapping[Outcome, int]
    """Outcome → number of recoveries that did not end in a ready server."""
    ended_at: str
    """Phases in which those ended, as in `50 % of apply`."""
    progress_ended_s: float | None
    """Median seconds at their last progress."""
    ready_median_s: float | None
    ready_min_s: float | None
    ready_max_s: float | None
    start_s: float | None
    """Seconds from the start of the process to the server's first line."""
    discover_s: float | None
    scan_s: float | None
    apply_s: float | None
    open_s: float | None
    accept_s: float | None
    rollback_s: float | None
    first_write_median_s: float | None
    batches: int | None
    ranges: Mapping[str, tuple[float, float]]
    """Phase → its shortest and longest seconds, for phases that every recovery of the configuration has."""
    device: DeviceUse | None
    """Use of the device up to ready, in the recovery nearest to the median."""
    cpu_s: float | None
    busiest_thread_s: float | None
    lab_cpu_s: float | None
    """Seconds of CPU that the lab used up to ready, in the recovery nearest to the median."""
    cores: int | None
    typical_ready_s: float | None
    """Seconds to ready of the recovery nearest to the median."""
    followed: int
    """Number of recoveries whose clients were restarted and followed; the next fields are theirs."""
    commits_before_per_s: float | None
    """Mean commits a second before the crash; of TPC-C `notpm_before` too, New-Order transactions a minute."""
    notpm_before: float | None
    first_commit_median_s: float | None
    """Median seconds from the start of the server's process to the first successful transaction."""
    back_median_s: float | None
    """Median seconds to throughput at 90 % of its mean before the crash (`median_back`)."""
    not_back: int
    """Number of recoveries whose throughput did not come back."""
    best_share: float | None
    """Best throughput in the recovery nearest to the median, as a share of the mean before."""
    followed_s: float | None
    """Seconds from the start of the server's process for which its clients were followed."""
    typical_back_s: float | None
    """Seconds to throughput back in the recovery nearest to the median."""
    series: str
    """File of the reports of its clients."""
    late_share: float | None
    """Largest delay of the disk model's answers, as a share of their latencies."""
    took_median_s: float | None
    page_cache_dropped: bool
    buffered: bool
    """True if the disk model's file was read through the page cache."""
    why_blank: str
    """Reasons of phases without a number."""
    notes: str
    """Notes from the log beyond the phases."""

    @property
    def decided_by(self) -> Collection[str] | None:
        """Figures of the resource that bound it."""
        bound = bound_of(self)
        return None if bound is None else _DECIDED_BY.get(bound, ())


def recovery_rows(recoveries: Sequence[Keyed], order: Sequence[CellKey] = ()) -> list[RecoveryRow]:
    """Return a row for each set of comparable recoveries on one machine: first those in `order`, then as first
    measured.
    """
    # Machines of one class with names of their own, as workers of a cluster, are separate in tables.
    cells = grouped([(each.key, each) for each in recoveries])
    by_name = [
        (machine, [each for each in cell if each.machine == machine])
        for cell in cells.values()
        for machine in dict.fromkeys(each.machine for each in cell)
    ]
    machines = list(dict.fromkeys(each.machine for each in recoveries))
    ranks = {key: place for place, key in enumerate(order)}
    return sorted(
        [_row(machine, cell) for machine, cell in by_name],
        key=lambda row: (
            machines.index(row.machine),
            ranks.get((row.server, row.log_size_bytes, row.storage, row.buffer_pool_bytes, row.settings), len(ranks)),
        ),
    )


def recoveries_in(row: RecoveryRow) -> int:
    """Return the number of recoveries of a row, including those that ended badly."""
    return row.n + sum(row.bad.values())


def by_machine(rows: Sequence[RecoveryRow]) -> dict[str, list[RecoveryRow]]:
    """Return machine → its rows, which only compare with each other."""
    found: dict[str, list[RecoveryRow]] = defaultdict(list)
    for row in rows:
        found[row.machine].append(row)
    return found


def order_of(run: Run) -> list[CellKey]:
    """Return the configurations in the requested order; none if the run has no plan that can be read today."""
    try:
        plan: CrashPlan = run.plan(CrashPlan)
    except LabError:
        return []
    storages = list(plan.conditions.storages)
    asked = list(dict.fromkeys(each.step.settings for each in plan.steps))
    places = {
        (each.group, storages.index(each.step.storage), -each.step.pool, asked.index(each.step.settings))
        for each in plan.steps
    }
    return [
        (
            plan.groups[group].server,
            plan.groups[group].spec.instance.log_size,
            storages[storage],
            -less_pool,
            asked[which],
        )
        for group, storage, less_pool, which in sorted(places)
    ]


def _row(machine: str, keyed: Sequence[Keyed]) -> RecoveryRow:
    recoveries = [each.recovery for each in keyed]
    cell = [each.trial for each in recoveries]
    ready = [trial.ready_s for trial in cell if trial.ready_s is not None]
    median = statistics.median(ready) if ready else None
    # Phases of one real recovery add up to its time to ready; medians of each phase would not.
    chosen = min(keyed, key=lambda each: _distance(each.trial, median))
    shown, image = chosen.recovery, chosen.image
    typical = shown.trial
    timeline, last = typical.timeline, image.last_sample
    sampled = None if last.lsn is None or last.checkpoint_lsn is None else last.lsn - last.checkpoint_lsn
    times = () if timeline is None else timeline.phases
    phases = {time.phase: time.seconds for time in times}
    logged = None if timeline is None else timeline.seconds_to_ready
    unfinished = [trial.unfinished for trial in cell if trial.unfinished is not None]
    return RecoveryRow(
        machine=machine,
        server=typical.server,
        version=typical.version,
        storage=typical.storage,
        log_size_bytes=typical.log_size,
        buffer_pool_bytes=typical.buffer_pool,
        settings=typical.settings,
        crash=image.spec.crash,
        dataset_bytes=image.spec.dataset.size,
        # The log of an unfinished recovery only tells how far it was read.
        redo_from_recovery_bytes=None if timeline is None or typical.unfinished else timeline.redo_bytes,
        redo_from_last_sample_bytes=sampled,
        dirty_pages=last.dirty_pages,
        undo_pages=undo_pages(image),
        pages_read=typical.pages_read,
        pages_recovered=None if timeline is None else timeline.pages,
        n=len(ready),
        crashes=len({trial.image for trial in cell}),
        wrong=sum(each.is_wrong for each in recoveries),
        bad={outcome: count for outcome in BAD if (count := sum(trial.outcome is outcome for trial in cell))},
        ended_at=", ".join(dict.fromkeys(each.where for each in unfinished)),
        progress_ended_s=median_of_known([each.progress_ended for each in unfinished]),
        ready_median_s=median,
        ready_min_s=min(ready, default=None),
        ready_max_s=max(ready, default=None),
        start_s=None if logged is None else max(0.0, (typical.ready_s or logged) - logged),
        discover_s=phases.get(Phase.DISCOVER),
        scan_s=phases.get(Phase.SCAN),
        apply_s=phases.get(Phase.APPLY),
        open_s=phases.get(Phase.OPEN),
        accept_s=phases.get(Phase.ACCEPT),
        rollback_s=phases.get(Phase.ROLLBACK),
        first_write_median_s=median_of_known([trial.first_write for trial in cell if trial.outcome is Outcome.READY]),
        batches=None if timeline is None else timeline.batches,
        ranges=_ranges(cell),
        device=typical.device,
        cpu_s=None if typical.cpu is None else typical.cpu.seconds,
        busiest_thread_s=None if typical.cpu is None else typical.cpu.busiest_thread,
        lab_cpu_s=typical.lab_cpu_seconds,
        cores=None if typical.cpu is None else typical.cpu.cores,
        typical_ready_s=typical.ready_s,
        **_warm([each.warm for each in recoveries if each.warm is not None], shown.warm),
        late_share=max((trial.late_share for trial in cell if trial.late_share is not None), default=None),
        took_median_s=median_of_known([each.record.took for each in recoveries]),
        page_cache_dropped=all(trial.cache_dropped for trial in cell),
        buffered=any(trial.buffered for trial in cell),
        why_blank="; ".join(dict.fromkeys(f"{time.phase}: {time.why}" for time in times if time.seconds is None)),
        notes="" if timeline is None else "; ".join(timeline.notes),
    )


def _warm(cell: Sequence[WarmTime], typical: WarmTime | None) -> dict[str, Any]:
    """Return the fields on clients that were followed."""
    orders = None if typical is None else typical.new_orders_before
    return {
        "followed": len(cell),
        "commits_before_per_s": None if typical is None else typical.commits_before,
        "notpm_before": None if orders is None else 60 * orders,
        "first_commit_median_s": median_of_known([each.first_commit for each in cell]),
        "back_median_s": median_back(cell),
        "not_back": sum(each.back is None for each in cell),
        "best_share": None if typical is None else typical.best_share,
        "followed_s": None if typical is None else typical.followed,
        "typical_back_s": None if typical is None else typical.back,
        "series": "" if typical is None else typical.series,
    }


def _distance(trial: RecoveryTrial, median: float | None) -> float:
    """Return the distance from the median of the ready recoveries; infinite for one that was not ready."""
    if trial.ready_s is None or median is None:
        return math.inf
    return abs(trial.ready_s - median)


def _ranges(cell: Sequence[RecoveryTrial]) -> dict[str, tuple[float, float]]:
    ranges = {}
    for phase in _PHASES:
        timelines = [trial.timeline for trial in cell if trial.timeline is not None]
        seconds = [time.seconds for timeline in timelines for time in timeline.phases if time.phase is phase]
        known = [each for each in seconds if each is not None]
        if known and len(known) == len(cell):
            ranges[str(phase)] = (min(known), max(known))
    return ranges


def bound_of(row: RecoveryRow) -> Bound | None:
    """Return the resource that bounded a row's recovery; None if the use of device or CPUs was not measured."""
    if row.device is None or row.cpu_s is None or row.busiest_thread_s is None or row.cores is None:
        return None
    if row.typical_ready_s is None:
        return None
    device = row.device
    return bound_by(
        seconds=row.typical_ready_s,
        cpu=row.cpu_s,
        busiest_thread=row.busiest_thread_s,
        cores=row.cores,
        busy=device.busy,
        reads=device.reads,
        read_bytes=device.read_bytes,
        writes=device.writes,
    )


def row_dictionaries(rows: Sequence[RecoveryRow]) -> list[dict[str, object]]:
    """Return the rows as dictionaries for CSV and Parquet."""
    return [_flat(row) for row in rows]


def _flat(row: RecoveryRow) -> dict[str, object]:
    flat = asdict(row)
    ranges, device, bad = flat.pop("ranges"), flat.pop("device"), flat.pop("bad")
    for outcome in BAD:
        flat[outcome.replace(" ", "_")] = bad.get(outcome, 0)
    for phase in _PHASES:
        flat[f"{phase}_shortest_s"], flat[f"{phase}_longest_s"] = ranges.get(str(phase), (None, None))
    for name in DeviceUse.__struct_fields__:
        flat[f"device_{name}"] = None if device is None else getattr(device, name)
    return {**flat, "bound_by": None if bound_of(row) is None else str(bound_of(row))}
