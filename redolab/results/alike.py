"""Recoveries and loads of runs, each with its comparison key (`redolab.results.comparison_key`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from redolab.crash.records.crash import CrashImage
from redolab.crash.records.recovery import RecoveryTrial
from redolab.disks.profiles import StorageProfile
from redolab.machine.machine_class import MachineClass, machine_classes
from redolab.results.comparison_key import ComparisonKey, StorageKey, comparison_key, storage_key
from redolab.results.recoveries import Recovery, recoveries_of
from redolab.runs.machines import machines_of
from redolab.runs.schema import TrialRecord
from redolab.runs.store import Run


@dataclass(frozen=True, slots=True)
class Keyed:
    """A recovery of a run and its comparison key."""

    run: str
    key: ComparisonKey
    machine: str
    """Name of the machine in tables (`redolab.runs.machines`)."""
    identity: str
    """Machine id. Empty in runs made before ids were recorded."""
    recovery: Recovery

    @property
    def record(self) -> TrialRecord[RecoveryTrial]:
        """Record of the trial in its run."""
        return self.recovery.record

    @property
    def trial(self) -> RecoveryTrial:
        """Measurements of the trial."""
        return self.recovery.trial

    @property
    def image(self) -> CrashImage:
        """Crash image that was recovered."""
        return self.recovery.image


class _Conditions(msgspec.Struct, frozen=True):
    """Fields of a plan that are read here; plans of other experiments have other fields."""

    storages: Mapping[str, StorageProfile] = {}


class _Planned(msgspec.Struct, frozen=True):
    conditions: _Conditions = _Conditions()


class Keys:
    """Comparison keys for several runs, whose machines are classed together."""

    def __init__(self, runs: Sequence[Run]) -> None:
        """Read the runs' records and plans. Raises `LabError` if a run cannot be read."""
        self.runs = runs
        sessions = {run.name: run.record().sessions for run in runs}
        classes = iter(machine_classes([each.machine for of_run in sessions.values() for each in of_run]))
        self._classes = {name: [next(classes) for _ in of_run] for name, of_run in sessions.items()}
        plans: dict[str, _Planned] = {run.name: run.plan(_Planned) for run in runs}
        self._storages = {name: plan.conditions.storages for name, plan in plans.items()}

    def machine(self, run: Run, session: int) -> MachineClass:
        """Return the class of the machine of a run's session."""
        return self._classes[run.name][session]

    def storage(self, run: Run, name: str) -> StorageKey:
        """Return the key of the storage of that name in a run."""
        return storage_key(name, self._storages[run.name].get(name))

    def recovery(self, run: Run, recovery: Recovery) -> ComparisonKey:
        """Return the key of a recovery."""
        trial = recovery.trial
        return comparison_key(
            machine=self.machine(run, recovery.record.session),
            server=trial.server,
            version=trial.version,
            spec=recovery.image.spec,
            storage=self.storage(run, trial.storage),
            buffer_pool=trial.buffer_pool,
            settings=trial.settings,
        )

    def load(self, run: Run, session: int, image: CrashImage) -> ComparisonKey:
        """Return the key of a load, and of the crash at its end."""
        spec = image.spec
        return comparison_key(
            machine=self.machine(run, session),
            server=spec.dataset.server,
            version=spec.dataset.version,
            spec=spec,
            storage=self.storage(run, spec.storage),
            buffer_pool=spec.instance.buffer_pool,
        )


def keyed_recoveries(runs: Sequence[Run]) -> list[Keyed]:
    """Return the recoveries of these runs, in the order of measurement. Raises `LabError` if one cannot be read."""
    keys, named = Keys(runs), machines_of(runs)
    found = []
    for run in runs:
        sessions = run.record().sessions
        for recovery in recoveries_of(run):
            session = recovery.record.session
            found.append(
                Keyed(
                    run=run.name,
                    key=keys.recovery(run, recovery),
                    machine=named[run.name][session],
                    identity=sessions[session].identity,
                    recovery=recovery,
                )
            )
    return found
