"""The page of what decides a recovery: what each factor adds, in which phase."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.runs.store import Run
from redolab.units import format_size

from ..cases import BASELINE
from ..effects import FactorEffect, effects
from ..plan import AnatomyPlan
from ..plots import plot_effects
from ..report import effects_table, measured_of

_TEMPLATE = Path(__file__).with_suffix(".md")
_MOST = 3


def page(runs: Sequence[Run]) -> Page:
    """The page and its picture."""
    found = effects(measured_of(runs))
    plans: list[AnatomyPlan] = [run.plan(AnatomyPlan) for run in runs]
    base = next(step for plan in plans for step in plan.steps if step.step.factor == BASELINE)
    spec = plans[0].groups[base.group].spec
    last = runs[-1].record().sessions[-1]
    values = {
        "servers": [_in_words(found, label) for label in dict.fromkeys(each.label for each in found)],
        "table": effects_table(found).as_markdown(),
        "log_size": format_size(spec.instance.log_size),
        "dataset": format_size(spec.dataset.size),
        "filled_to": spec.kill.filled_to(),
        "recoveries": sum(each.n for each in found),
        "machine": f"{last.machine.in_words()}, {last.machine.system}",
    }
    title = "What a recovery takes longer for: seconds added, and the phase they hit"
    return Page(filled(_TEMPLATE, values), [Plot("effects", partial(plot_effects, effects=found, title=title))])


def _where(effect: FactorEffect) -> str:
    return f" ({effect.phase})" if effect.phase else ""


def _in_words(found: Sequence[FactorEffect], label: str) -> str:
    own = [each for each in found if each.label == label]
    base = next(each for each in own if each.factor == BASELINE)
    told = sorted((each for each in own if each.is_told and each.factor != BASELINE), key=lambda each: -each.added)
    most = ", ".join(f"{each.factor}, {each.level}: {each.added:+.1f} s{_where(each)}" for each in told[:_MOST])
    return f"{label}, {base.ready:.1f} s from the baseline: {most}"
