"""What the anatomy measured: what each level adds, and where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from redolab.crashes.recovery import RecoveryTrial
from redolab.report.contents import Plot, Report
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable
from redolab.runs.store import Run

from .cases import BASELINE
from .effects import Effect, Measured, effects
from .plan import AnatomyPlan
from .plots import plot_effects

_TOLD = 3


def report(run: Run) -> Report:
    """The answer, the table and the picture."""
    found = effects(measured_of(run))
    said = answer(found)
    return Report(
        answer=said,
        tables=[effects_table(found)],
        rows={"table": [asdict(each) for each in found]},
        plots=[Plot("effects", partial(plot_effects, effects=found, title=said))],
    )


def measured_of(run: Run) -> list[Measured]:
    """The recoveries of a run, each with its case, in the plan's order of cases. Raises `LabError`."""
    plan: AnatomyPlan = run.plan(AnatomyPlan)
    found = []
    for record in run.trials(RecoveryTrial):
        assert record.place is not None
        planned = plan.steps[record.place]
        server = plan.groups[planned.group].server
        found.append((planned.group, Measured(server, planned.step.factor, planned.step.level, record.trial)))
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


def answer(found: Sequence[Effect]) -> str:
    """The levels that add the most, server by server."""
    parts = []
    for server in dict.fromkeys(each.server for each in found):
        own = [each for each in found if each.server == server]
        base = next(each for each in own if each.factor == BASELINE)
        told = sorted((each for each in own if each.is_told), key=lambda each: -abs(each.added))[:_TOLD]
        most = (
            ", ".join(f"{each.added:+.0f} s by {each.factor} ({each.level})" for each in told) or "nothing told apart"
        )
        parts.append(f"{server_label(server, base.version)}: {base.ready:.1f} s; {most}")
    return "; ".join(parts) + "."


def effects_table(found: Sequence[Effect]) -> ReportTable:
    """A row a level."""
    columns = [
        Column[Effect]("server", lambda each: server_label(each.server, each.version)),
        Column[Effect]("factor", lambda each: each.factor),
        Column[Effect]("level", lambda each: each.level),
        Column[Effect]("ready, s", lambda each: _seconds(each.ready), right=True),
        Column[Effect]("added, s", _added, right=True),
        Column[Effect]("95 % interval", _interval, right=True),
        Column[Effect]("phase", lambda each: each.phase or "–"),
        Column[Effect]("rollback, s", lambda each: _seconds(each.rollback), right=True, spare=True),
        Column[Effect]("n", lambda each: f"{each.n} of {each.crashes}", right=True),
    ]
    notes = [
        "Seconds to ready, means; 'added' is to the baseline of the same server, with what crashes made alike differ by in the "
        "interval; 'phase' is the one that changed most; rollback is what came after ready. n: recoveries of so many crashes."
    ]
    return ReportTable.brief("Anatomy of a recovery", found, columns, notes)


def _seconds(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.2f}"


def _added(each: Effect) -> str:
    if each.factor == BASELINE:
        return ""
    unfinished = f" ({each.unfinished} NOT READY)" if each.unfinished else ""
    return f"{each.added:+.2f}{unfinished}" if each.n else f"NOT READY ({each.unfinished})"


def _interval(each: Effect) -> str:
    if each.factor != BASELINE and each.n and math.isnan(each.low):
        return "–"
    return "" if each.factor == BASELINE or not each.n else f"{each.low:+.1f} to {each.high:+.1f}"
