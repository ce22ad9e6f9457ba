"""The page of production: recoveries after crashes at random moments beside what was predicted of them before they were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.results.alike import keyed_recoveries
from redolab.results.committed import OTHER_MACHINES
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.sizing.calibration import Calibration
from redolab.sizing.fitting import fit_runs
from redolab.sizing.judged_loads import JudgedLoad, judged_loads, planned_table
from redolab.sizing.judged_own import Judgement, OwnCalibration, judged_by_own
from redolab.sizing.judging import judged_recoveries, strata_table

from ..factors import Factors
from .plots import plot_predictions

_TEMPLATE = Path(__file__).with_suffix(".md")
_EXPERIMENT = "production"


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
        _judged(run, [each for each in in_order[:place] if not _is_elsewhere(each)], in_order)
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
        (f"{each.date}{', another machine' if _is_elsewhere(each.run) else ''}", each.recoveries) for each in judged
    ]
    return Page(filled(_TEMPLATE, values), [Plot("predictions", partial(plot_predictions, panels=panels))])


def _is_elsewhere(run: Run) -> bool:
    return run.folder.parent.name in OTHER_MACHINES


def _judged(run: Run, before: Sequence[Run], runs: Sequence[Run]) -> JudgedRun:
    recoveries = keyed_recoveries([run])
    machine = recoveries[0].key.machine
    calibration = fit_runs(before, machine.cpu).calibration
    judged = judged_recoveries(recoveries, calibration)
    own = judged_by_own(recoveries, run, runs, calibration)
    return JudgedRun(
        recoveries=judged, run=run, calibration=calibration, loads=judged_loads(judged, calibration), own=own
    )
