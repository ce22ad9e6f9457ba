"""Report of the anatomy: the time that each level adds, and its phase."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from redolab.records.crash import CrashSpec
from redolab.report.contents import Plot, Report
from redolab.report.table import Column, ReportTable
from redolab.results.alike import keyed_recoveries
from redolab.runs.machines import identity_of
from redolab.runs.store import Run
from redolab.units import format_size

from .cases import BASELINE, CHANGE_BUFFER
from .effects import FactorEffect, MeasuredCase, effects
from .plan import AnatomyPlan
from .plots import plot_effects

_TOLD = 3


def report(run: Run) -> Report:
    """Return the answer, the table and the picture."""
    found = effects(measured_of([run]))
    said = answer(found)
    return Report(
        answer=said,
        tables=[effects_table(found)],
        rows={"table": [as_row(each) for each in found]},
        plots=[Plot("effects", partial(plot_effects, effects=found, title=said))],
    )


def as_row(effect: FactorEffect) -> dict[str, object]:
    """Return a row of the table for programs, with the ratio's values in columns of their own."""
    told = asdict(effect)
    ratio: dict[str, object] = told.pop("ratio")
    return {**told, **{f"ratio_{name}": value for name, value in ratio.items()}}


def measured_of(runs: Sequence[Run]) -> list[MeasuredCase]:
    """Return the recoveries of runs, each with its case, in the plans' order of cases. Raises `LabError`."""
    plans: dict[str, AnatomyPlan] = {run.name: run.plan(AnatomyPlan) for run in runs}
    order = {name: position for position, name in enumerate(plans)}
    machines = {run.name: identity_of(run) for run in runs}
    found = []
    for each in keyed_recoveries(runs):
        planned = plans[each.run].steps[each.record.position]
        server = plans[each.run].groups[planned.group].server
        measured = MeasuredCase(
            server,
            planned.step.factor,
            planned.step.level,
            each.trial,
            each.key,
            each.run,
            crash_in_words(each.image.spec),
            machines[each.run],
        )
        found.append((order[each.run], planned.group, measured))
    return [each for *_, each in sorted(found, key=lambda placed: placed[:2])]


def crash_in_words(spec: CrashSpec) -> str:
    """Return a description of how a crash is made, with the differences between baselines."""
    size, dataset = format_size(spec.instance.log_size), format_size(spec.dataset.size)
    filled_to = spec.kill.filled_to()
    return f"a redo log of {size} filled by `{spec.workload}` to {filled_to}, a dataset of {dataset}"


def answer(found: Sequence[FactorEffect]) -> str:
    """Return the levels that add the most, for each server."""
    parts = []
    for label in dict.fromkeys(each.label for each in found):
        own = [each for each in found if each.label == label]
        base = next(each for each in own if each.factor == BASELINE)
        resolved = sorted((each for each in own if each.stands), key=lambda each: -abs(each.added))[:_TOLD]
        most = (
            ", ".join(f"{each.added:+.1f} s with {each.factor} ({each.level})" for each in resolved)
            or "no level changed it by what stands beside all that were measured"
        )
        parts.append(f"{label}: {base.ready:.1f} s; {most}{never_ready(own)}")
    return "; ".join(parts) + "."


def _factor(never: FactorEffect, own: Sequence[FactorEffect]) -> str:
    """Return the name of a factor with a level at which a server was never ready.

    If it was ready at no level of the change buffer, the buffer is not the reason, but the conditions that both share.
    """
    if never.factor == CHANGE_BUFFER and not any(each.n for each in own if each.factor == CHANGE_BUFFER):
        return "secondary index, log filled with a small pool, with or without the change buffer"
    return never.factor


def never_ready(own: Sequence[FactorEffect]) -> str:
    """Return the factors with levels at which no recovery ended, in words; empty without any."""
    never: Counter[str] = Counter()
    for each in own:
        if not each.n:
            never[_factor(each, own)] += each.unfinished
    return f"; never ready: {', '.join(f'{name} (0 of {count})' for name, count in never.items())}" if never else ""


def effects_table(found: Sequence[FactorEffect]) -> ReportTable:
    """Return a table with a row for each level."""
    columns = [
        Column[FactorEffect]("server", lambda each: each.label),
        Column[FactorEffect]("factor", lambda each: each.factor),
        Column[FactorEffect]("level", lambda each: each.level),
        Column[FactorEffect]("ready, s", lambda each: _seconds(each.ready), right=True),
        Column[FactorEffect]("added, s", _added, right=True),
        Column[FactorEffect]("of the baseline (95 % interval)", _share),
        Column[FactorEffect]("phase", lambda each: each.phase or "–"),
        Column[FactorEffect]("rollback, s", lambda each: _seconds(each.rollback), right=True, spare=True),
        Column[FactorEffect]("n", lambda each: f"{each.n} of {each.crashes}", right=True),
    ]
    notes = [
        "Seconds to ready: geometric means over the crashes. The interval is of crashes, by Student's t on logarithms; of a level of "
        "a single crash by what the crashes of all baselines differ by. A question mark: it leaves out 0, but may be chance among so many "
        "levels (Holm, 5 %). 'phase' is the one that changed most; rollback runs after ready. n: recoveries, and of how many crashes."
    ]
    return ReportTable.brief("Anatomy of a recovery", found, columns, notes)


def _seconds(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.2f}"


def _added(each: FactorEffect) -> str:
    if each.factor == BASELINE:
        return ""
    unfinished = f" ({each.unfinished} NOT READY)" if each.unfinished else ""
    return f"{each.added:+.2f}{unfinished}" if each.n else f"NOT READY ({each.unfinished})"


def _share(each: FactorEffect) -> str:
    if each.factor == BASELINE or not each.n:
        return ""
    return each.ratio.with_interval() + " ?" * (each.ratio.excludes_zero and not each.stands)
