"""The page of production: recoveries after crashes at random moments beside what was predicted of them before they were measured."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.results.alike import Keyed, keyed_recoveries
from redolab.results.committed import SLOWER_MACHINE
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.sizing.calibration import Calibration
from redolab.sizing.fitting import fit_runs
from redolab.sizing.judged_loads import JudgedLoad, judged_loads, planned_table
from redolab.sizing.judging import JudgedRecovery, judged_recoveries, strata_table
from redolab.sizing.own_machine import on_own_machine

from ..factors import Factors
from .plots import plot_predictions

_TEMPLATE = Path(__file__).with_suffix(".md")
_EXPERIMENT, _CALIBRATE = "production", "calibrate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Recoveries, and how one calibration predicted them."""

    recoveries: Sequence[JudgedRecovery]

    @property
    def predicted(self) -> list[JudgedRecovery]:
        """The recoveries of which something was predicted."""
        return [each for each in self.recoveries if each.predicted is not None]

    @property
    def above(self) -> int:
        """How many of these took longer than nineteen in twenty were to take."""
        return sum(each.is_above for each in self.predicted)

    @property
    def bias(self) -> float:
        """The geometric mean of predicted over measured."""
        return math.exp(statistics.fmean(math.log(each.ratio) for each in self.recoveries if each.ratio is not None))

    @property
    def storages(self) -> list[str]:
        """On which something was predicted."""
        return list(dict.fromkeys(each.keyed.trial.storage for each in self.predicted))

    def median_error(self, storage: str | None = None) -> float | None:
        """As a share of the measured time, on that storage or on all; None where nothing was predicted there."""
        errors = [
            abs(each.ratio - 1)
            for each in self.recoveries
            if each.ratio is not None and storage in (None, each.keyed.trial.storage)
        ]
        return statistics.median(errors) if errors else None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCalibration(Judgement):
    """By the project's rates, as a few crashes of other kinds on that very machine scaled them."""

    crashes: int
    """That scaled them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun(Judgement):
    """A run of loads that were crashed at random moments, by the calibration of what was measured before it."""

    run: Run
    calibration: Calibration
    loads: Sequence[JudgedLoad]
    own: OwnCalibration | None
    """None where nobody calibrated that machine."""

    @property
    def date(self) -> str:
        """When it began to be measured."""
        return f"{min(each.keyed.trial.started for each in self.recoveries):%Y-%m-%d %H:%M}"


def page(runs: Sequence[Run]) -> Page:
    """The page and its picture: every run judged by the runs before it, on the same class of machines."""
    in_order = sorted(runs, key=lambda run: run.name)
    judged = [
        _judged(run, [each for each in in_order[:place] if not _is_slower(each)], _calibrations(in_order, run))
        for place, run in enumerate(in_order)
        if run.record().experiment == _EXPERIMENT
    ]
    planned = [load for each in judged for load in each.loads if load.planned is not None]
    values = {
        "judged": judged,
        "predicted_in_all": sum(len(each.predicted) for each in judged),
        "above_in_all": sum(each.above for each in judged),
        "biases": sorted(each.bias for each in judged),
        "errors": sorted(
            error for each in judged for name in each.storages if (error := each.median_error(name)) is not None
        ),
        "planned_ratios": sorted(each.ratio for each in planned if each.ratio is not None),
        "planned_recoveries": sum(len(each.measured.recoveries) for each in planned),
        "planned_above": sum(each.above for each in planned),
        "loads": sum(len(each.loads) for each in judged),
        "predicted": [(each, strata_table(each.recoveries).as_markdown()) for each in judged],
        "by_own": [
            (each, each.own, strata_table(each.own.recoveries).as_markdown()) for each in judged if each.own is not None
        ],
        "planned": [(each, planned_table(each.loads).as_markdown()) for each in judged],
        "commands": [command(each.run, Factors(), always=["server"]) for each in judged],
        "machine": judged[-1].run.record().sessions[-1].machine.in_words(),
    }
    panels = [
        (f"{each.date}{', a slower machine' if _is_slower(each.run) else ''}", each.recoveries) for each in judged
    ]
    return Page(filled(_TEMPLATE, values), [Plot("predictions", partial(plot_predictions, panels=panels))])


def _calibrations(runs: Sequence[Run], run: Run) -> list[Run]:
    """The runs that calibrated the very machine of that run."""
    identity = _identity(run)
    return [
        each for each in runs if identity and each.record().experiment == _CALIBRATE and _identity(each) == identity
    ]


def _is_slower(run: Run) -> bool:
    return run.folder.parent.name == SLOWER_MACHINE


def _identity(run: Run) -> str:
    return run.record().sessions[-1].identity


def _judged(run: Run, before: Sequence[Run], calibrations: Sequence[Run]) -> JudgedRun:
    recoveries = keyed_recoveries([run])
    machine = recoveries[0].key.machine
    calibration = fit_runs(before, machine.cpu).calibration
    judged = judged_recoveries(recoveries, calibration)
    own = _by_own(recoveries, calibrations, calibration) if calibrations else None
    return JudgedRun(
        recoveries=judged, run=run, calibration=calibration, loads=judged_loads(judged, calibration), own=own
    )


def _by_own(recoveries: Sequence[Keyed], calibrations: Sequence[Run], known: Calibration) -> OwnCalibration:
    few = fit_runs(calibrations)
    crashes = len({each.crash_name for each in few.observations})
    return OwnCalibration(recoveries=judged_recoveries(recoveries, on_own_machine(few, known)), crashes=crashes)
