"""The loads and crashes of runs: each with its series, what came of it, and its recovery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redolab.counters import Sample
from redolab.crashes.bench import crashes_of, samples_of, story_folder
from redolab.crashes.clients import read_moments
from redolab.crashes.images import MACHINE, WORKLOAD, CrashImage
from redolab.crashes.load_figures import LoadFigures, load_figures
from redolab.crashes.recovery import RecoveryTrial
from redolab.runs.machines import machine_names
from redolab.runs.store import Run
from redolab.samples.machine_use import MachineSample, read_machine_samples
from redolab.workloads.contract import WorkloadMoment


@dataclass(frozen=True, slots=True)
class Load:
    """One load and the crash at its end, with what its recoveries came to."""

    run: str
    machine: str
    image: CrashImage
    moments: Sequence[WorkloadMoment]
    samples: Sequence[Sample]
    figures: LoadFigures
    recoveries: Sequence[RecoveryTrial]

    @property
    def block(self) -> str:
        """Loads of one block are compared: those of one run on one machine with one number."""
        return f"{self.run} {self.machine} {self.image.spec.number}"


@dataclass(frozen=True, slots=True)
class WorstCase:
    """A crash with flushing held back, and what its recoveries came to."""

    run: str
    machine: str
    image: CrashImage
    recoveries: Sequence[RecoveryTrial]


@dataclass(frozen=True, slots=True)
class Found:
    """What some runs have measured."""

    loads: Sequence[Load]
    worst: Sequence[WorstCase]


def found_in(runs: Sequence[Run]) -> Found:
    """The loads whose figures can be told, and the worst cases, in the order of measuring. Raises `LabError`."""
    loads, worst = [], []
    for run in runs:
        names = machine_names(run.record().sessions)
        machines = {record.name: names[record.session] for record in run.group_records()}
        trials = [record.trial for record in run.trials(RecoveryTrial)]
        for image in sorted(crashes_of(run), key=lambda each: each.made):
            recoveries = [trial for trial in trials if trial.image == image.name]
            # One whose run was ended before the group was noted has no recovery, and will be made again.
            machine = machines.get(image.name)
            if machine is None:
                continue
            if image.spec.kill.steady is None:
                worst.append(WorstCase(run.name, machine, image, recoveries))
            elif (load := _load(run, machine, image, recoveries)) is not None:
                loads.append(load)
    return Found(loads, worst)


def _load(run: Run, machine: str, image: CrashImage, recoveries: Sequence[RecoveryTrial]) -> Load | None:
    folder = story_folder(run, image.name)
    moments, samples = read_moments(folder / WORKLOAD), samples_of(run, image.name)
    of_machine: Sequence[MachineSample] = read_machine_samples(folder / MACHINE) if (folder / MACHINE).exists() else []
    assert image.spec.kill.steady is not None
    measured = 2 * image.spec.kill.steady.window
    figures = load_figures(moments, samples, of_machine, image.capacity, measured)
    if figures is None:
        return None
    return Load(run.name, machine, image, moments, samples, figures, recoveries)
