"""Runs of loads that were crashed at random times, each predicted from the runs that were measured before it alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from redolab.predict.calibrated_elsewhere import with_binary_logs_of
from redolab.predict.calibration import Calibration, on_its_machine
from redolab.predict.fitting import calibrations_among, fit_runs
from redolab.predict.judged_predictions import JudgedPredictions, JudgedStratum, judged_recoveries, strata
from redolab.predict.own_machine import on_own_machine
from redolab.predict.recovery_time.held_out import OF_CALIBRATED
from redolab.results.alike import Keyed, keyed_recoveries
from redolab.results.committed import (
    LEARNED_FROM,
    OTHER_MACHINES,
    by_machine,
    machine_of,
    recoveries_with_binary_logs,
)
from redolab.runs.machines import identity_of
from redolab.runs.store import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCalibration(JudgedPredictions):
    """Recoveries predicted by the project's rates, scaled by a few crashes of other kinds on the same machine."""

    crashes: int
    """Number of crashes that scaled the rates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun(JudgedPredictions):
    """A run of such loads, judged by a calibration from the runs before it."""

    run: Run
    loads: Sequence[JudgedStratum]
    """Strata of the run, with their planned recoveries."""
    above_here: int
    """Recoveries that took longer than the 95 % upper bound, if that allowed nothing for another machine."""
    own: OwnCalibration | None
    """Judgement by a calibration of the same machine; None if there is none."""

    @property
    def began(self) -> str:
        """Time of the first recovery."""
        return f"{min(each.keyed.trial.started for each in self.recoveries):%Y-%m-%d %H:%M}"

    @property
    def is_elsewhere(self) -> bool:
        """True if the calibration was not trained on that machine."""
        return _is_elsewhere(self.run)


def judged_runs(runs: Sequence[Run]) -> list[JudgedRun]:
    """Return the runs of loads that were crashed at random times, each judged by all earlier runs. Raises `LabError`."""
    in_order = sorted(runs, key=lambda run: run.name)
    places = [place for place, run in enumerate(in_order) if run.record().experiment == "production"]
    return [_judged(in_order, place) for place in places]


def _is_elsewhere(run: Run) -> bool:
    return run.folder.parent.name in OTHER_MACHINES


def _judged(runs: Sequence[Run], place: int) -> JudgedRun:
    """Judge a run as its user would be answered: on another machine, by the rates of still others, if any are known."""
    run, before = runs[place], runs[:place]
    recoveries = keyed_recoveries([run])
    if _is_elsewhere(run):
        known = [each for each in before if machine_of(each) != machine_of(run)]
        learned = [each for each in known if each.folder.parent.name in LEARNED_FROM]
        machines = by_machine(known) if any(_is_elsewhere(each) for each in known) else None
        calibration = fit_runs(learned, machines=machines).calibration
        with_logs = [each for each in recoveries_with_binary_logs() if each.name < run.name]
        calibration = with_binary_logs_of(calibration, with_logs)
    else:
        learned = [each for each in before if not _is_elsewhere(each)]
        calibration = fit_runs(learned, recoveries[0].key.machine.cpu).calibration
    judged = judged_recoveries(recoveries, calibration)
    return JudgedRun(
        recoveries=judged,
        run=run,
        loads=strata(judged, calibration),
        above_here=JudgedPredictions(recoveries=judged_recoveries(recoveries, on_its_machine(calibration))).above,
        own=judged_by_own(recoveries, run, runs, calibration),
    )


def judged_by_own(
    recoveries: Sequence[Keyed], run: Run, runs: Sequence[Run], known: Calibration
) -> OwnCalibration | None:
    """Judge recoveries of a run by the runs that calibrated its machine; None if none did."""
    identity = identity_of(run)
    calibrations = [each for each in calibrations_among(runs) if identity and identity_of(each) == identity]
    if not calibrations:
        return None
    few, servers = fit_runs(calibrations), {each.trial.server for each in recoveries}
    # Errors of other machines' calibrations may be known from these very recoveries.
    known = msgspec.structs.replace(known, spreads=known.spreads.without(OF_CALIBRATED))
    return OwnCalibration(
        recoveries=judged_recoveries(recoveries, on_own_machine(few, known)),
        crashes=len({each.crash_name for each in few.observations if each.server in servers}),
    )
