"""Loads of runs, each with its series, its figures, and the recoveries after the crash at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redolab.crash.records.crash import MACHINE, WORKLOAD, CrashImage, CrashSpec
from redolab.crash.records.kill_rule import KillRule
from redolab.results.alike import Keys
from redolab.results.comparison_key import ComparisonKey
from redolab.results.crashes import crashes_of, samples_of, story_folder
from redolab.results.load_figures import LoadFigures, load_figures
from redolab.results.marks import StorageUse
from redolab.results.recoveries import Recovery, recoveries_of
from redolab.results.series import read_machine_samples, read_reports
from redolab.runs.machines import machines_of
from redolab.runs.store import Run
from redolab.servers.redo_counters import Sample
from redolab.workloads.data import WorkloadReport

_MEASURED = 2 / 3
"""Share of a load of fixed length that is measured, at its end."""


@dataclass(frozen=True, slots=True)
class Load:
    """One load, the crash at its end, and the recoveries."""

    run: str
    machine: str
    """Name of the machine in tables."""
    key: ComparisonKey
    image: CrashImage
    reports: Sequence[WorkloadReport]
    samples: Sequence[Sample]
    figures: LoadFigures
    recoveries: Sequence[Recovery]

    @property
    def storage_use(self) -> StorageUse:
        """Storage of the load and its recoveries."""
        shares = [self.image.late_share, *(each.trial.late_share for each in self.recoveries)]
        late_share = max((each for each in shares if each is not None), default=None)
        buffered = any(each.trial.buffered for each in self.recoveries)
        return StorageUse(self.machine, self.image.spec.storage, late_share, buffered)

    @property
    def measured(self) -> tuple[float, float]:
        """Begin and end of the measured window, in seconds after the first report."""
        lasted = self.reports[-1].monotonic - self.reports[0].monotonic
        return lasted - self.figures.load_measured_s, lasted

    @property
    def block(self) -> str:
        """Block of the load: loads of one run on one machine with one number are compared."""
        return f"{self.run} {self.machine} {self.image.spec.number}"


@dataclass(frozen=True, slots=True)
class WorstCase:
    """A crash with flushing throttled, and its recoveries."""

    run: str
    machine: str
    key: ComparisonKey
    image: CrashImage
    recoveries: Sequence[Recovery]


@dataclass(frozen=True, slots=True)
class MeasuredLoads:
    """Loads and worst-case crashes of some runs."""

    loads: Sequence[Load]
    worst: Sequence[WorstCase]


def found_in(runs: Sequence[Run]) -> MeasuredLoads:
    """Return the loads with figures, and the other crashes, in the order of measurement. Raises `LabError`."""
    loads, worst = [], []
    keys, named = Keys(runs), machines_of(runs)
    for run in runs:
        sessions = {record.name: record.session for record in run.groups().values()}
        measured = recoveries_of(run)
        for image in sorted(crashes_of(run), key=lambda each: each.made):
            # A load whose group was not recorded, or was made again, does not count.
            if image.name not in sessions:
                continue
            session = sessions[image.name]
            machine, key = named[run.name][session], keys.load(run, session, image)
            recoveries = [each for each in measured if each.trial.image == image.name]
            if not image.spec.instance.purpose.is_production:
                worst.append(WorstCase(run.name, machine, key, image, recoveries))
            elif (load := _load(run, machine, key, image, recoveries)) is not None:
                loads.append(load)
    return MeasuredLoads(loads, worst)


def settings_in_words(spec: CrashSpec) -> str:
    """Return the settings of a loaded server and its clients that differ from production.

    For example `innodb_adaptive_flushing=0`.
    """
    instance = spec.instance
    commit = instance.flush_log_at_trx_commit
    return "+".join(
        [
            *([] if commit == 1 else [f"innodb_flush_log_at_trx_commit={commit}"]),
            *(["log_bin"] if instance.binary_log else []),
            *(each.name if each.value is None else f"{each.name}={each.value}" for each in instance.overrides),
            *(f"without {name}" for name in instance.without),
            *(["think time"] if spec.think_time else []),
        ]
    )


def measured_seconds(kill: KillRule, lasted: float) -> float | None:
    """Return the seconds before its end for which a load is measured; None for one that ends by its checkpoint age.

    `lasted` is its length in seconds. Its start is never measured: there the clients start and the pool fills.
    """
    if kill.steady is not None:
        return min(2 * kill.steady.window, max(lasted - kill.steady.warm_up, _MEASURED * lasted))
    return None if kill.after is None else _MEASURED * kill.after


def _load(run: Run, machine: str, key: ComparisonKey, image: CrashImage, recoveries: Sequence[Recovery]) -> Load | None:
    folder = story_folder(run, image.name)
    reports, samples = read_reports(folder / WORKLOAD), samples_of(run, image.name)
    killed = image.last_sample.monotonic
    seconds = measured_seconds(image.spec.kill, killed - reports[0].monotonic if reports else 0.0)
    if seconds is None:
        return None
    of_machine = read_machine_samples(folder / MACHINE) if (folder / MACHINE).exists() else []
    figures = load_figures(reports, samples, of_machine, image.capacity, seconds, killed)
    if figures is None:
        return None
    return Load(run.name, machine, key, image, reports, samples, figures, recoveries)
