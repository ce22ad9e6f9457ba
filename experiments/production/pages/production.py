"""The page of production: recoveries after crashes at random moments beside what was predicted of them before they were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redolab.models.recovery_time.held_out import OF_MACHINES
from redolab.records.plan import CrashPlan
from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.results.alike import keyed_recoveries
from redolab.results.committed import LEARNED_FROM, OTHER_MACHINES, RECOVERY_PAGES, by_machine, machine_of
from redolab.runs.confounded import confounded_with_time
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.sizing.calibration import Calibration, on_its_machine
from redolab.sizing.fitting import fit_runs
from redolab.sizing.judged_loads import JudgedLoad, judged_loads, planned_table
from redolab.sizing.judged_own import Judgement, OwnCalibration, judged_by_own
from redolab.sizing.judging import judged_recoveries, strata_table

from ..factors import Factors
from .plots import plot_predictions

_TEMPLATE = Path(__file__).with_suffix(".md")
RUNS = [*RECOVERY_PAGES, *OTHER_MACHINES]
"""Folders under data/measured whose runs the page is made from."""
_EXPERIMENT = "production"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun(Judgement):
    """A run of loads that were crashed at random moments, by the calibration of what was measured before it."""

    run: Run
    calibration: Calibration
    loads: Sequence[JudgedLoad]
    above_here: int
    """How many took longer than 95 % were to take, if nothing were allowed for another machine."""
    own: OwnCalibration | None
    """None where nobody calibrated that machine."""

    @property
    def date(self) -> str:
        """When it began to be measured."""
        return f"{min(each.keyed.trial.started for each in self.recoveries):%Y-%m-%d %H:%M}"

    @property
    def machine(self) -> str:
        """What it is called."""
        return machine_of(self.run)

    @property
    def is_elsewhere(self) -> bool:
        """Whether the calibration has not learned from that machine."""
        return _is_elsewhere(self.run)


def page(runs: Sequence[Run]) -> Page:
    """The page and its picture: every run judged by the runs before it."""
    in_order = sorted(runs, key=lambda run: run.name)
    places = [place for place, run in enumerate(in_order) if run.record().experiment == _EXPERIMENT]
    judged = [_judged(in_order, place) for place in places]
    elsewhere = dict.fromkeys(each.machine for each in judged if each.is_elsewhere)
    here = [each for each in judged if not each.is_elsewhere]
    by_own = [(each, each.own) for each in judged if each.own is not None and each.is_elsewhere]
    planned = [load for each in judged for load in each.loads if load.planned is not None]
    values = {
        "judged": judged,
        "predicted_in_all": sum(len(each.predicted) for each in judged),
        "above_in_all": sum(each.above for each in judged),
        "predicted_here": sum(len(each.predicted) for each in here),
        "above_here": sum(each.above for each in here),
        "above_elsewhere": [_above_on(machine, judged) for machine in elsewhere],
        "unallowed": [
            each.date for each in judged if each.is_elsewhere and not set(OF_MACHINES) & each.calibration.spreads.kinds
        ],
        "by_one": [each.date for each in judged if each.is_elsewhere and len(each.calibration.other_machines) == 1],
        "own_above": sum(own.above for _, own in by_own),
        "own_predicted": sum(len(own.predicted) for _, own in by_own),
        "own_biases": [f"{own.bias:.2f}" for _, own in by_own],
        "own_errors": [f"{100 * (own.median_error() or 0.0):.0f}" for _, own in by_own],
        "errors": sorted(
            error for each in judged for name in each.storages if (error := each.median_error(name)) is not None
        ),
        "planned_recoveries": sum(len(each.measured.recoveries) for each in planned),
        "planned_above": sum(each.above for each in planned),
        "loads": sum(len(each.loads) for each in judged),
        "predicted": [(each, strata_table(each.recoveries).as_markdown()) for each in judged],
        "by_own": [(each, own, strata_table(own.recoveries).as_markdown()) for each, own in by_own],
        "planned": [
            (each, planned_table(each.loads).as_markdown())
            for each in judged
            if any(load.planned is not None for load in each.loads)
        ],
        "confounded": confounded_with_time(
            [each.run for each in judged],
            CrashPlan,
            {
                "servers": lambda crash: crash.server,
                "storages": lambda crash: crash.spec.storage,
                "log sizes": lambda crash: crash.spec.instance.log_size,
                "workloads": lambda crash: crash.spec.workload,
            },
        ),
        "commands": [command(each.run, Factors(), always=["server"]) for each in judged],
    }
    panels = [(f"{each.date}{f', {each.machine}' if each.is_elsewhere else ''}", each.recoveries) for each in judged]
    return Page(filled(_TEMPLATE, values), [Plot("predictions", partial(plot_predictions, panels=panels))])


def _above_on(machine: str, judged: Sequence[JudgedRun]) -> str:
    """As in `28 (30) of 40 on the slower machine`: in parentheses if nothing were allowed for another machine."""
    own = [each for each in judged if each.machine == machine]
    above, here = (sum(counts) for counts in zip(*((each.above, each.above_here) for each in own), strict=True))
    beside = f" ({here})" if here != above else ""
    return f"{above}{beside} of {sum(len(each.predicted) for each in own)} on {machine}"


def _is_elsewhere(run: Run) -> bool:
    return run.folder.parent.name in OTHER_MACHINES


def _judged(runs: Sequence[Run], place: int) -> JudgedRun:
    """By the runs before it, as its user would be answered: on another machine with what still others took, if any were known."""
    run, before = runs[place], runs[:place]
    recoveries = keyed_recoveries([run])
    if _is_elsewhere(run):
        known = [each for each in before if machine_of(each) != machine_of(run)]
        learned = [each for each in known if each.folder.parent.name in LEARNED_FROM]
        machines = by_machine(known) if any(_is_elsewhere(each) for each in known) else None
        calibration = fit_runs(learned, machines=machines).calibration
    else:
        learned = [each for each in before if not _is_elsewhere(each)]
        calibration = fit_runs(learned, recoveries[0].key.machine.cpu).calibration
    judged = judged_recoveries(recoveries, calibration)
    return JudgedRun(
        recoveries=judged,
        run=run,
        calibration=calibration,
        loads=judged_loads(judged, calibration),
        above_here=Judgement(recoveries=judged_recoveries(recoveries, on_its_machine(calibration))).above,
        own=judged_by_own(recoveries, run, runs, calibration),
    )
