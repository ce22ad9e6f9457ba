"""Accuracy of a calibration of the same machine for its recoveries."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from redolab.models.recovery_time.held_out import OF_CALIBRATED
from redolab.models.recovery_time.spreads import ByKind
from redolab.results.alike import Keyed
from redolab.runs.machines import identity_of
from redolab.runs.store import Run
from redolab.sizing.calibration import Calibration
from redolab.sizing.fitting import calibrations_among, fit_runs
from redolab.sizing.judging import JudgedRecovery, judged_recoveries
from redolab.sizing.own_machine import on_own_machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Recoveries, and their predictions by one calibration."""

    recoveries: Sequence[JudgedRecovery]

    @property
    def predicted(self) -> list[JudgedRecovery]:
        """The recoveries that have a prediction."""
        return [each for each in self.recoveries if each.predicted is not None]

    @property
    def above(self) -> int:
        """Number of predicted recoveries beyond their 95 % upper bound."""
        return sum(each.is_above for each in self.predicted)

    @property
    def bias(self) -> float:
        """Geometric mean of predicted over measured."""
        return math.exp(statistics.fmean(math.log(each.ratio) for each in self.recoveries if each.ratio is not None))

    @property
    def storages(self) -> list[str]:
        """Storages of the predicted recoveries."""
        return list(dict.fromkeys(each.keyed.trial.storage for each in self.predicted))

    def median_error(self, storage: str | None = None) -> float | None:
        """Return the median error as a share of the measured time, on one storage or all; None without predictions."""
        errors = [
            abs(each.ratio - 1)
            for each in self.recoveries
            if each.ratio is not None and storage in (None, each.keyed.trial.storage)
        ]
        return statistics.median(errors) if errors else None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCalibration(Judgement):
    """Recoveries predicted by the project's rates, scaled by a few crashes of other kinds on the same machine."""

    crashes: int
    """Number of crashes that scaled the rates."""


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
    known = msgspec.structs.replace(known, spreads=known.spreads.each(_not_of_calibrated))
    return OwnCalibration(
        recoveries=judged_recoveries(recoveries, on_own_machine(few, known)),
        crashes=len({each.crash_name for each in few.observations if each.server in servers}),
    )


def _not_of_calibrated(spreads: ByKind) -> ByKind:
    return {kind: spread for kind, spread in spreads.items() if kind not in OF_CALIBRATED}
