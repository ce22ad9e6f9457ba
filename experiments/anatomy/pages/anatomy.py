"""The page of what decides a recovery: what each factor adds, in which phase."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redolab.records.crash import CrashSpec
from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.results.committed import THIRD_MACHINE
from redolab.runs.confounded import confounded_with_time
from redolab.runs.store import Run
from redolab.storage.profiles import HOME
from redolab.units import format_size

from ..cases import BASELINE, CHANGE_BUFFER
from ..effects import FactorEffect, effects, phases_of
from ..plan import AnatomyPlan
from ..plots import plot_effects
from ..report import crash_in_words, effects_table, measured_of, never_ready

_TEMPLATE = Path(__file__).with_suffix(".md")
RUNS = ["anatomy", THIRD_MACHINE]
"""Folders under data/measured whose runs the page is made from."""
_MOST = 3
_EXPERIMENT = "anatomy"


@dataclass(frozen=True, slots=True)
class Section:
    """Levels of one size of the log on one disk, with their own baselines."""

    storage: str
    log: str
    answers: Sequence[str]
    """Of each server in words."""
    baselines: Sequence[str]
    """How each is made, in words."""
    longest: str
    """The level that takes the longest, and what of it each phase takes, in words."""
    table: str
    is_stuck: bool
    """Whether a server was never ready at a level of the change buffer."""
    effects: Sequence[FactorEffect]
    recoveries: int
    crashes: int
    """Of each level; the fewest."""
    machine: str
    days: str


def page(runs: Sequence[Run]) -> Page:
    """The page: the largest log on the machine's own disk with its picture, then a section for each other log and disk."""
    kinds: dict[tuple[bool, int, str], list[Run]] = defaultdict(list)
    for run in runs:
        if run.record().experiment == _EXPERIMENT:
            storage = run.record().options["storage"]
            kinds[storage != HOME, -_baseline_of(run).instance.log_size, storage].append(run)
    first, *others = [_section(storage, kinds[key]) for key in sorted(kinds) for storage in [key[-1]]]
    drawn = _of_whole_baselines(first.effects)
    title = "Ready after " + "; ".join(map(_longest, _by_label(drawn).values()))
    return Page(
        filled(
            _TEMPLATE,
            {
                "first": first,
                "others": others,
                "home": HOME,
                "confounded": confounded_with_time(
                    [run for own in kinds.values() for run in own],
                    AnatomyPlan,
                    {
                        "servers": lambda crash: crash.server,
                        "levels that need a crash of their own (the baseline first)": lambda crash: crash.spec.alike(),
                    },
                ),
            },
        ),
        [Plot("effects", partial(plot_effects, effects=drawn, title=title))],
    )


def _baseline_of(run: Run) -> CrashSpec:
    plan: AnatomyPlan = run.plan(AnatomyPlan)
    return plan.groups[next(step.group for step in plan.steps if step.step.factor == BASELINE)].spec


def _baselines_in_words(runs: Sequence[Run]) -> list[str]:
    """How each baseline is made, with the day of its first run where there are several: those of two machines are two."""
    made: dict[tuple[str, str], str] = {}
    for run in runs:
        session = run.record().sessions[-1]
        made.setdefault((crash_in_words(_baseline_of(run)), session.identity), f"{session.began:%Y-%m-%d}")
    return [f"{crash} ({day})" if len(made) > 1 else crash for (crash, _), day in made.items()]


def _section(storage: str, runs: Sequence[Run]) -> Section:
    measured = measured_of(runs)
    found = effects(measured)
    most = max((each for each in found if each.n), key=lambda each: each.ready)
    phases = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in phases_of(measured, most).items())
    days = [f"{session.began:%Y-%m-%d}" for run in runs for session in run.record().sessions]
    machine = runs[-1].record().sessions[-1].machine
    return Section(
        storage=storage,
        log=format_size(_baseline_of(runs[0]).instance.log_size),
        answers=[_in_words(found, label) for label in dict.fromkeys(each.label for each in _of_whole_baselines(found))],
        baselines=_baselines_in_words(runs),
        longest=f"{most.level}: {phases}",
        table=effects_table(found).as_markdown(),
        is_stuck=any(not each.n and each.factor == CHANGE_BUFFER for each in found),
        effects=found,
        recoveries=sum(each.n for each in found),
        crashes=min(each.crashes for each in found),
        machine=f"{machine.in_words()}, {machine.system}",
        days=" and ".join(sorted(set(days))),
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
    levels = [each for each in own if each.factor != BASELINE and each.n]
    most = max([each for each in levels if each.stands] or levels, key=lambda each: each.added)
    level = most.level.partition(" (")[0]
    return f"{most.ready:.1f} s instead of {most.base:.1f} s with {most.factor}: {level} ({most.label})"


def _how_much(effect: FactorEffect) -> str:
    return f"{effect.added:+.1f} s" + (f", in {effect.phase}" if effect.phase else "")


def _in_words(found: Sequence[FactorEffect], label: str) -> str:
    own = [each for each in found if each.label == label]
    base = next(each for each in own if each.factor == BASELINE)
    resolved = sorted((each for each in own if each.stands), key=lambda each: -each.added)
    most = "; ".join(f"{each.factor}: {each.level} ({_how_much(each)})" for each in resolved[:_MOST])
    never = never_ready(own)
    if not most:
        return f"{label} is ready after {base.ready:.1f} s; no level changed that by what stands beside all that were measured{never}"
    return f"{label} is ready after {base.ready:.1f} s; what adds the most: {most}{never}"
