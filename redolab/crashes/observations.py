"""Measured recoveries as the model of recovery times takes them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from redolab.crashes.bench import crashes_of, storages_of
from redolab.crashes.images import CrashImage, CrashSpec
from redolab.crashes.outcome import Outcome
from redolab.crashes.recovery import RecoveryTrial
from redolab.errors import LabError
from redolab.machine.description import Machine, same_machine
from redolab.models.capacity import PAGE_SIZE
from redolab.models.recovery_time.fit import Observation
from redolab.models.recovery_time.terms import Disk, Part
from redolab.models.recovery_time.work import Crash
from redolab.runs.store import Run
from redolab.storage.figures import MeasuredDisk
from redolab.timeline import Phase, Timeline


def disk_figures(got: MeasuredDisk) -> Disk | None:
    """What the model takes of what fio found; None where it was not asked for all of it."""
    if got.in_order is None:
        return None
    return Disk(
        read_us=got.read.latency_us,
        write_us=got.write.latency_us,
        queued_reads_per_s=got.queued_read.per_second,
        in_order_mb_s=got.in_order.mb_s,
        sequential_mb_s=got.sequential.mb_s,
    )


def observations_of(runs: Iterable[Run]) -> list[Observation]:
    """The recoveries of all runs that ended well, on storages that fio has looked at, in one of the runs on the same machine.

    Raises `LabError` if a run cannot be read.
    """
    runs = list(runs)
    known = _known_disks(runs)
    found = []
    for run in runs:
        sessions = run.record().sessions
        crashes = {image.name: (image, crash_of(image)) for image in crashes_of(run)}
        for record in run.trials(RecoveryTrial):
            if record.trial.image not in crashes:
                raise LabError(
                    f"the run {run.name} has no record of its crash {record.trial.image}",
                    "leave that run out: what its recoveries had to do is not known",
                )
            image, crash = crashes[record.trial.image]
            disk = _disk(known, sessions[record.session].machine, record.trial.storage)
            if not _is_usual(image.spec):
                continue
            if crash is not None and disk is not None and (each := _observation(record.trial, image, crash, disk)):
                found.append(each)
    return found


def _is_usual(spec: CrashSpec) -> bool:
    """Whether it has nothing that the model's terms do not know."""
    dataset = spec.dataset
    return not (spec.prepared_transactions or dataset.empty_tables or dataset.page_size or spec.instance.overrides)


def table_rates(runs: Iterable[Run]) -> Mapping[str, float]:
    """Server → seconds that a table adds to the time to ready, by crashes that differ in their number of tables alone.

    Servers without such crashes are left out. Raises `LabError` if a run cannot be read.
    """
    cells: dict[tuple[str, bytes], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        specs = {image.name: image.spec for image in crashes_of(run)}
        for record in run.trials(RecoveryTrial):
            trial, spec = record.trial, specs[record.trial.image]
            if trial.outcome is Outcome.READY and trial.seconds_to_ready is not None and not trial.settings:
                without = msgspec.structs.replace(
                    spec.alike(), dataset=msgspec.structs.replace(spec.dataset, empty_tables=0)
                )
                alike = msgspec.json.encode((without, trial.storage, trial.buffer_pool))
                cells[trial.server, alike][spec.dataset.empty_tables].append(trial.seconds_to_ready)
    weighed: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for (server, _), by_count in cells.items():
        if 0 in by_count:
            base = statistics.median(by_count[0])
            weighed[server] += [
                (count, statistics.median(seconds) - base) for count, seconds in by_count.items() if count
            ]
    return {
        server: max(0.0, sum(count * added for count, added in told) / sum(count**2 for count, _ in told))
        for server, told in weighed.items()
        if told
    }


def crash_of(image: CrashImage) -> Crash | None:
    """What a crash left to recover; None where its server did not tell."""
    last = image.last_sample
    if last.checkpoint_age is None or last.dirty_pages is None:
        return None
    return Crash(
        redo=float(last.checkpoint_age),
        dirty_pages=float(last.dirty_pages),
    )


def rollback_rates(runs: Iterable[Run]) -> Mapping[str, float]:
    """Server → rows rolled back a second, the median of its recoveries; servers without any are left out. Raises `LabError`."""
    rates: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        for record in run.trials(RecoveryTrial):
            timeline = record.trial.timeline
            if timeline is not None and timeline.rows and timeline.rollback_seconds:
                rates[record.trial.server].append(timeline.rows / timeline.rollback_seconds)
    return {server: statistics.median(found) for server, found in rates.items()}


def _observation(trial: RecoveryTrial, image: CrashImage, crash: Crash, disk: Disk) -> Observation | None:
    timeline = trial.timeline
    if trial.outcome is not Outcome.READY or trial.seconds_to_ready is None or timeline is None or trial.settings:
        return None
    return Observation(
        server=trial.server,
        storage=trial.storage,
        crash_name=trial.image,
        log_size=trial.log_size,
        pool=trial.buffer_pool,
        workload=image.spec.workload,
        crash=crash,
        disk=disk,
        batches=timeline.batches,
        pages=_pages(trial, timeline, crash),
        stretches=_stretches(trial.seconds_to_ready, timeline),
        ready=trial.seconds_to_ready,
    )


def _pages(trial: RecoveryTrial, timeline: Timeline, crash: Crash) -> float | None:
    """Pages recovered by the log's count, else what the device read beyond the redo (MySQL to 5.7, MariaDB 10.2 count none)."""
    if timeline.pages is not None:
        return float(timeline.pages)
    if trial.device is None:
        return None
    beyond = (trial.device.read_bytes - crash.redo) / PAGE_SIZE
    return beyond if beyond > 0 else None


def _stretches(ready: float, timeline: Timeline) -> Mapping[frozenset[Part], float]:
    """The parts that the log tells apart; what comes before the server's first line is its start."""
    phases = {time.phase: time.seconds for time in timeline.phases}
    parts = {Part.SCAN: Phase.SCAN, Part.APPLY: Phase.APPLY, Part.OPEN: Phase.OPEN}
    told = {frozenset({part}): seconds for part, phase in parts.items() if (seconds := phases[phase]) is not None}
    around = [phases[phase] for phase in (Phase.DISCOVER, Phase.ACCEPT)]
    in_log = timeline.seconds_to_ready
    if in_log is not None and all(seconds is not None for seconds in around):
        told[frozenset({Part.OTHER})] = max(0.0, ready - in_log) + sum(seconds or 0.0 for seconds in around)
    untold = frozenset(Part) - frozenset().union(*told)
    return {**told, untold: max(0.0, ready - sum(told.values()))} if untold else told


def _known_disks(runs: Sequence[Run]) -> list[tuple[Machine, str, Disk]]:
    return [
        (run.record().sessions[record.session].machine, record.storage, disk)
        for run in runs
        for record in storages_of(run).records
        if record.check is not None and (disk := disk_figures(record.check.got)) is not None
    ]


def _disk(known: Sequence[tuple[Machine, str, Disk]], machine: Machine, storage: str) -> Disk | None:
    return next((disk for on, name, disk in reversed(known) if name == storage and same_machine(on, machine)), None)
