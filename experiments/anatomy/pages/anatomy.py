"""The page of what decides a recovery: what each factor adds, in which phase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.runs.store import Run
from redolab.storage.profiles import HOME
from redolab.units import format_size

from ..cases import BASELINE
from ..effects import FactorEffect, effects, phases_of
from ..plan import AnatomyPlan
from ..plots import plot_effects
from ..report import crash_in_words, effects_table, measured_of

_TEMPLATE = Path(__file__).with_suffix(".md")
_MOST = 3
_EXPERIMENT = "anatomy"


@dataclass(frozen=True, slots=True)
class OnStorage:
    """Levels on another disk than the machine's own, with their own baseline there."""

    storage: str
    answers: Sequence[str]
    longest: str
    """The level that takes the longest, and what of it each phase takes, in words."""
    table: str
    log: str
    date: str


def page(runs: Sequence[Run]) -> Page:
    """The page and its picture, of the machine's own disk; of others a table each."""
    every = [run for run in runs if run.record().experiment == _EXPERIMENT]
    runs = [run for run in every if _storage(run) == HOME]
    found = effects(measured_of(runs))
    plans: list[AnatomyPlan] = [run.plan(AnatomyPlan) for run in runs]
    specs = [
        plan.groups[next(step.group for step in plan.steps if step.step.factor == BASELINE)].spec for plan in plans
    ]
    last = runs[-1].record().sessions[-1]
    drawn = _of_whole_baselines(found)
    values = {
        "servers": [_in_words(found, label) for label in dict.fromkeys(each.label for each in drawn)],
        "table": effects_table(found).as_markdown(),
        "log_size": format_size(specs[0].instance.log_size),
        "baselines": list(dict.fromkeys(map(crash_in_words, specs))),
        "recoveries": sum(each.n for each in found),
        "machine": f"{last.machine.in_words()}, {last.machine.system}",
        "others": [
            _on(storage, [run for run in every if _storage(run) == storage])
            for storage in dict.fromkeys(map(_storage, every))
            if storage != HOME
        ],
    }
    title = "Ready after " + "; ".join(map(_longest, _by_label(drawn).values()))
    return Page(filled(_TEMPLATE, values), [Plot("effects", partial(plot_effects, effects=drawn, title=title))])


def _storage(run: Run) -> str:
    return run.record().options["storage"]


def _on(storage: str, runs: Sequence[Run]) -> OnStorage:
    measured = measured_of(runs)
    found = effects(measured)
    most = max((each for each in found if each.n), key=lambda each: each.ready)
    phases = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in phases_of(measured, most).items())
    session = runs[-1].record().sessions[-1]
    return OnStorage(
        storage=storage,
        answers=[_in_words(found, label) for label in dict.fromkeys(each.label for each in found)],
        longest=f"{most.level}: {phases}",
        table=effects_table(found).as_markdown(),
        log=format_size(runs[-1].plan(AnatomyPlan).groups[0].spec.instance.log_size),
        date=f"{session.began:%Y-%m-%d}",
    )


def _of_whole_baselines(found: Sequence[FactorEffect]) -> list[FactorEffect]:
    """Of each server those of the baseline with the most levels: one with a few of them would be an empty panel."""
    levels = Counter(each.label for each in found)
    most = {
        server: max((each.label for each in found if each.server == server), key=lambda label: levels[label])
        for server in dict.fromkeys(each.server for each in found)
    }
    return [each for each in found if each.label == most[each.server]]


def _by_label(found: Sequence[FactorEffect]) -> dict[str, list[FactorEffect]]:
    """Server → its effects."""
    return {label: [each for each in found if each.label == label] for label in dict.fromkeys(map(_label, found))}


def _label(effect: FactorEffect) -> str:
    return effect.label


def _longest(own: Sequence[FactorEffect]) -> str:
    """As in `10.4 s instead of 3.4 s with workload: secondary index (MySQL 9.7.4)`."""
    most = max((each for each in own if each.factor != BASELINE and each.n), key=lambda each: each.added)
    level = most.level.partition(" (")[0]
    return f"{most.ready:.1f} s instead of {most.base:.1f} s with {most.factor}: {level} ({most.label})"


def _how_much(effect: FactorEffect) -> str:
    return f"{effect.added:+.1f} s" + (f", in {effect.phase}" if effect.phase else "")


def _in_words(found: Sequence[FactorEffect], label: str) -> str:
    own = [each for each in found if each.label == label]
    base = next(each for each in own if each.factor == BASELINE)
    resolved = sorted((each for each in own if each.stands), key=lambda each: -each.added)
    most = "; ".join(f"{each.factor}: {each.level} ({_how_much(each)})" for each in resolved[:_MOST])
    if not most:
        return f"{label} is ready after {base.ready:.1f} s; no level changed that by what stands beside all that were measured"
    return f"{label} is ready after {base.ready:.1f} s; what adds the most: {most}"
