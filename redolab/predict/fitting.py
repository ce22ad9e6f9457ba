"""`redolab fit`: a calibration from runs of recoveries, and its errors on held-out recoveries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from redolab.crash.records.recovery import Outcome
from redolab.disks.profiles import HOME
from redolab.errors import InvalidInput
from redolab.grouping import by_key
from redolab.machine.machine_class import MachineClass
from redolab.predict.calibration import (
    CALIBRATION_FORMAT,
    CalibratedServer,
    CalibratedStorage,
    Calibration,
    calibrated_workload,
    other_machines_of,
)
from redolab.predict.extrapolation import machine_kind
from redolab.predict.observations import (
    Disks,
    known_disks,
    measured_disks,
    moments_of,
    observations_of,
    rollback_of,
    stuck_counts,
    table_rates,
    tables_spread,
)
from redolab.predict.recovery_time.fit import Fitted, Observation, fit_together
from redolab.predict.recovery_time.held_out import HeldOut, HeldOutPrediction, held_out_prediction, judged
from redolab.predict.recovery_time.pooling import Subject
from redolab.predict.recovery_time.rollback import Rollback, RollbackRate, rollback_rates, rollback_spreads
from redolab.predict.recovery_time.spreads import Spreads, spreads_of
from redolab.predict.replicates import Replicates, replicates
from redolab.predict.server_names import nearest_first
from redolab.report.labels import server_label
from redolab.results.alike import Keyed, Keys, keyed_recoveries
from redolab.results.comparison_key import Field, grouped
from redolab.runs.schema import Session
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Version, dialect_of
from redolab.units import noun

_CALIBRATE = "calibrate"
_ANATOMY = "anatomy"
"""Experiment that changes one thing at a time: its one crash under another workload does not calibrate that."""
_OF_A_SERVER = (Field.SPEC, Field.CRASH, Field.STORAGE, Field.BUFFER_POOL, Field.SETTINGS)
"""Parts of the comparison key in which a server's recoveries may differ: the model has terms for them."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Recoveries that were not trained on: not comparable with the others, or possibly slowed by something else."""

    what: str
    """Description, as in `MariaDB 10.11.19 on 2 cores of …`."""
    recoveries: int
    runs: Sequence[str]

    @classmethod
    def of(cls, what: str, recoveries: Sequence[Keyed]) -> LeftOut:
        """Return the description of these recoveries."""
        return cls(what, len(recoveries), tuple(dict.fromkeys(each.run for each in recoveries)))


@dataclass(frozen=True, slots=True)
class FittedRuns:
    """Calibration fitted to runs of recoveries, and its errors."""

    calibration: Calibration
    judged: Sequence[HeldOutPrediction]
    observations: Sequence[Observation]
    """Recoveries that it was trained on."""
    machine: MachineClass
    """Class of the machines on which all of them were measured."""
    left_out: Sequence[LeftOut]
    replicates: Replicates


@dataclass(frozen=True, slots=True)
class _TrainingSet:
    """Training data of some runs: comparable recoveries on one class of machines."""

    keys: Keys
    machine: MachineClass
    kept: Sequence[Keyed]
    """Recoveries on that class, each server in the version with the most crashes."""
    elsewhere: Sequence[Keyed]
    """Recoveries on other classes."""
    left_out: Sequence[LeftOut]
    observations: Sequence[Observation]

    @property
    def versions(self) -> Mapping[str, str]:
        """Server → version."""
        return {each.trial.server: each.trial.version for each in self.kept}

    @property
    def subjects(self) -> Mapping[Subject, Sequence[Observation]]:
        """Server and workload → observations that determine its rates."""
        return dict(sorted(by_key(self.observations, lambda each: each.subject).items()))


def _training_set(runs: Sequence[Run], machine: str | None) -> _TrainingSet:
    """Select the training data of some runs. Raises `LabError`, or `InvalidInput` if no recovery can be trained on."""
    keys, measured = Keys(runs), keyed_recoveries(runs)
    disks = known_disks(keys)
    chosen = _class(machine, [each for each in measured if observations_of([each], disks)])
    kept = _of_one_version([each for each in measured if each.key.machine == chosen])
    kept_ids = {id(each) for each in kept}
    observations = _measured_beside_anatomies(observations_of(kept, disks), runs)
    if not observations:
        raise _nothing_to_learn()
    return _TrainingSet(
        keys=keys,
        machine=chosen,
        kept=kept,
        elsewhere=[each for each in measured if each.key.machine != chosen],
        left_out=[
            *_left_out([each for each in measured if id(each) not in kept_ids]),
            *_possibly_disturbed(kept, {(each.run, each.crash_name) for each in observations}),
        ],
        observations=observations,
    )


def fit_runs(
    runs: Sequence[Run], machine: str | None = None, machines: Mapping[str, Sequence[Run]] | None = None
) -> FittedRuns:
    """Return a calibration from the recoveries of these runs on one class of machines.

    `machine` names the class in part, as in `EPYC`; by default it is the one with the most recoveries. `machines` maps
    names of machines to the runs on each. It adds the errors on machines that were not trained on: each machine of the
    runs held out in turn, the others, and other classes among the runs. Raises `LabError`, or `InvalidInput` if no
    recovery can be trained on.
    """
    training = _training_set(runs, machine)
    dialects = {
        server: dialect_of(_family(server), Version.parse(version)) for server, version in training.versions.items()
    }
    relatives = {
        server: nearest_first(own, {name: other for name, other in dialects.items() if name != server})
        for server, own in dialects.items()
    }
    found = judged(training.observations, relatives)
    rolled_back_elsewhere: list[tuple[str, HeldOut, Rollback]] = []
    others: list[Keyed] = []
    if machines is not None:
        found += _on_other_machines(training.elsewhere, known_disks(training.keys), fit_together(training.observations))
        rolled_back_elsewhere += _rolled_back_elsewhere(training.elsewhere)
        of_other_classes = {each.run for each in training.elsewhere}
        for name, own in machines.items():
            names, anatomies = {run.name for run in own}, _anatomies(own)
            there = [each for each in keyed_recoveries(own) if each.run not in of_other_classes]
            usual = [each for each in there if each.run not in anatomies]
            rest = [each for each in training.observations if each.run not in names]
            found += _on_other_machines(usual, known_disks(Keys(own)), fit_together(rest), name)
            rolled_back_elsewhere += _rolled_back_elsewhere(there, name)
            if not names & {run.name for run in runs}:
                others += usual
    # The model of a disk is the same on each machine; a table on a slow disk costs its reads.
    on_models = [each for each in others if each.trial.storage != HOME]
    rolled_back = [rollback for each in training.kept if (rollback := rollback_of(each)) is not None]
    calibration = msgspec.structs.replace(
        _rates(training, table_rates([*training.kept, *on_models]), rollback_rates(rolled_back)),
        spreads=spreads_of(found),
        rollback_spreads=rollback_spreads(rolled_back, rolled_back_elsewhere),
        tables_spread=tables_spread([*training.kept, *on_models]),
        other_machines=other_machines_of(found),
    )
    return FittedRuns(
        calibration=calibration,
        judged=found,
        observations=training.observations,
        machine=training.machine,
        left_out=training.left_out,
        replicates=_replicates(training.kept),
    )


def rates_of(runs: Sequence[Run], machine: str | None = None) -> Calibration:
    """Return only the rates that `fit_runs` finds, without their errors."""
    return _rates(_training_set(runs, machine), {}, {})


def _rates(
    training: _TrainingSet,
    of_tables: Mapping[str, Mapping[str, float]],
    of_rollback: Mapping[str, Mapping[str, RollbackRate]],
) -> Calibration:
    fitted, kept, subjects = fit_together(training.observations), training.kept, training.subjects
    servers = {
        server: CalibratedServer(
            family=_family(server),
            version=training.versions[server].split("-")[0],
            workloads={
                workload: calibrated_workload(own, fitted[of, workload], moments_of(kept, of, workload))
                for (of, workload), own in subjects.items()
                if of == server
            },
            in_several_batches=stuck_counts(kept, server, [workload for of, workload in subjects if of == server]),
            rollback_on=of_rollback.get(server, {}),
            seconds_per_table_on=of_tables.get(server, {}),
        )
        for server in dict.fromkeys(server for server, _ in subjects)
    }
    names_of_runs = {each.run for each in training.observations}
    last = _last_session(training.keys, training.machine)
    return Calibration(
        format=CALIBRATION_FORMAT,
        made=max(each.trial.started for each in kept),
        commit=last.commit or "",
        machine=last.machine,
        storages=_storages(training.keys, training.machine),
        servers=servers,
        spreads=Spreads(),
        runs=tuple(run.name for run in training.keys.runs if run.name in names_of_runs),
    )


def _on_other_machines(
    recoveries: Sequence[Keyed], disks: Disks, fitted: Mapping[Subject, Fitted], name: str | None = None
) -> list[HeldOutPrediction]:
    """Return predictions of recoveries by the rates of other machines, on their own disks; patch levels may differ."""
    found = []
    for machine in dict.fromkeys(each.key.machine for each in recoveries):
        for each in observations_of([each for each in recoveries if each.key.machine == machine], disks):
            if each.subject in fitted and each.is_judged:
                kind, there = machine_kind(each.storage), named(name, machine)
                found.append(held_out_prediction(kind, each, fitted[each.subject], machine=there))
    return found


def _rolled_back_elsewhere(recoveries: Sequence[Keyed], name: str | None = None) -> list[tuple[str, HeldOut, Rollback]]:
    """Return machine, kind and rollback of recoveries on a machine, or on those of other classes."""
    return [
        (named(name, each.key.machine), machine_kind(each.trial.storage), rollback)
        for each in recoveries
        if (rollback := rollback_of(each)) is not None
    ]


def named(name: str | None, machine: MachineClass) -> str:
    """Return the name of a machine whose recoveries are predicted by others; only those of the same class have one."""
    return machine.in_words() if name is None else f"{name} with {machine.in_words()}"


def without_anatomies(runs: Sequence[Run]) -> list[Run]:
    """Return the runs without anatomies: the settings that those change are no terms of the model."""
    anatomies = _anatomies(runs)
    return [run for run in runs if run.name not in anatomies]


def _anatomies(runs: Sequence[Run]) -> set[str]:
    """Return the names of the runs that are anatomies."""
    return {run.name for run in runs if run.record().experiment == _ANATOMY}


def calibrations_among(runs: Sequence[Run]) -> list[Run]:
    """Return the runs that `make experiment calibrate` made."""
    return [run for run in runs if run.record().experiment == _CALIBRATE]


def learned_from(found: FittedRuns) -> list[str]:
    """Return sentences on the training data, the data left out, and the differences between runs."""
    left_out = "; ".join(f"{each.recoveries} of {each.what} ({noun(len(each.runs), 'run')})" for each in found.left_out)
    return [
        f"Learned from {len(found.observations)} recoveries on {found.machine.in_words()}.",
        *([f"Left out: {left_out}."] if left_out else []),
        f"The same cell measured again: {found.replicates.in_words()}.",
    ]


def _measured_beside_anatomies(observations: Sequence[Observation], runs: Sequence[Run]) -> list[Observation]:
    """Return the observations of servers and workloads that another experiment than an anatomy has measured too."""
    anatomies = _anatomies(runs)
    measured = {each.subject for each in observations if each.run not in anatomies}
    return [each for each in observations if each.subject in measured]


def _nothing_to_learn() -> InvalidInput:
    return InvalidInput(
        "these runs have no recovery to learn from",
        "it takes some that ended well, beside nothing else, on storages that fio looked at (CHECKDISKS=on)",
    )


def _class(wanted: str | None, usable: Sequence[Keyed]) -> MachineClass:
    """Return the class of machines whose description has `wanted`, else the one with the most of these recoveries."""
    counts = Counter(each.key.machine for each in usable)
    if not counts:
        raise _nothing_to_learn()
    if wanted is None:
        return counts.most_common(1)[0][0]
    named = [each for each in counts if wanted.lower() in each.in_words().lower()]
    if len(named) != 1:
        problem = (
            f"{len(named)} of the machines of these runs are '{wanted}'"
            if named
            else f"no machine of these runs is '{wanted}'"
        )
        raise InvalidInput(problem, f"choose from {'; '.join(each.in_words() for each in counts)}")
    return named[0]


def _of_one_version(recoveries: Sequence[Keyed]) -> list[Keyed]:
    """Return each server's comparable recoveries: of its version with the most crashes."""
    keyed = [(each.key, each) for each in recoveries]
    kinds = grouped(keyed, *_OF_A_SERVER).items()
    by_crashes = sorted(kinds, key=lambda kind: -len({each.trial.image for each in kind[1]}))
    most = {key.server: key for key, _ in reversed(by_crashes)}
    return [each for key, each in keyed if key.ignoring(*_OF_A_SERVER) == most[key.server]]


def _left_out(recoveries: Sequence[Keyed]) -> list[LeftOut]:
    found = []
    for key, of_it in grouped(
        [(each.key, each) for each in recoveries], *_OF_A_SERVER, Field.SERVER, Field.VERSION
    ).items():
        servers = dict.fromkeys(server_label(each.trial.server, each.trial.version) for each in of_it)
        found.append(LeftOut.of(f"{', '.join(servers)} on {key.machine.in_words()}", of_it))
    return found


def _possibly_disturbed(recoveries: Sequence[Keyed], trained_on: Collection[tuple[str, str]]) -> list[LeftOut]:
    """Return the recoveries that ended well but may have been slowed, of crashes without any recovery to train on."""
    ready = [
        each
        for each in recoveries
        if each.trial.outcome is Outcome.READY and (each.run, each.image.name) not in trained_on
    ]
    kinds = {
        "before the lab recorded what else the machine did": [each for each in ready if each.trial.disturbance is None],
        "recoveries beside something else": [each for each in ready if each.trial.is_disturbed or each.trial.looked_at],
    }
    return [LeftOut.of(what, of_it) for what, of_it in kinds.items() if of_it]


def _last_session(keys: Keys, machine: MachineClass) -> Session:
    """Return the last session on a machine of that class."""
    sessions = [
        session
        for run in keys.runs
        for place, session in enumerate(run.record().sessions)
        if keys.machine(run, place) == machine
    ]
    return max(sessions, key=lambda session: session.began)


def _replicates(recoveries: Sequence[Keyed]) -> Replicates:
    """Return the differences between runs of equal configurations on one machine, hours or days apart."""
    ready = [
        (each, each.trial.ready_s)
        for each in recoveries
        if each.trial.outcome is Outcome.READY
        and each.trial.ready_s is not None
        and each.trial.disturbance is not None
        and not each.trial.is_disturbed
        # Crashes at random times differ by their time.
        and each.image.spec.kill.moment is None
    ]
    cells = by_key(ready, lambda each: (each[0].key, each[0].identity))
    return replicates([[(each.run, seconds) for each, seconds in cell] for cell in cells.values()])


def _family(server: str) -> str:
    return server_catalogue().get(server).family


def _storages(keys: Keys, machine: MachineClass) -> dict[str, CalibratedStorage]:
    """Return every storage that fio measured on machines of that class, with or without recoveries."""
    return {
        record.storage: CalibratedStorage(about=record.about, disk=disk)
        for run, record, disk in measured_disks(keys)
        if keys.machine(run, record.session) == machine
    }
