"""Measured recoveries as the model of recovery times takes them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from redolab.crashes.bench import crashes_of, storages_of
from redolab.crashes.images import CrashImage
from redolab.crashes.outcome import Outcome
from redolab.crashes.recovery import RecoveryTrial
from redolab.machine.description import Machine, same_machine
from redolab.models.capacity import PAGE_SIZE
from redolab.models.recovery_time.fit import Observation
from redolab.models.recovery_time.terms import Disk, Part
from redolab.models.recovery_time.work import Crash
from redolab.runs.store import Run
from redolab.storage.figures import MeasuredDisk
from redolab.timeline import Phase, Timeline


def disk_figures(got: MeasuredDisk) -> Disk:
    """What the model takes of what fio found."""
    return Disk(
        read_us=got.read.latency_us,
        queued_reads_per_s=got.queued_read.per_second,
        sequential_mb_s=got.sequential.mb_s,
        write_us=got.write.latency_us,
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
            image, crash = crashes[record.trial.image]
            disk = _disk(known, sessions[record.session].machine, record.trial.storage)
            if crash is not None and disk is not None and (each := _observation(record.trial, image, crash, disk)):
                found.append(each)
    return found


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
        (run.record().sessions[record.session].machine, record.storage, disk_figures(record.check.got))
        for run in runs
        for record in storages_of(run).records
        if record.check is not None
    ]


def _disk(known: Sequence[tuple[Machine, str, Disk]], machine: Machine, storage: str) -> Disk | None:
    return next((disk for on, name, disk in reversed(known) if name == storage and same_machine(on, machine)), None)
