"""What the anatomy makes of its recoveries: what each level adds, how sure that is, and in which phase."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from experiments.anatomy.cases import BASELINE, CHANGE_BUFFER, FACTORS, cases
from experiments.anatomy.effects import FactorEffect, MeasuredCase, effects
from experiments.anatomy.report import answer, effects_table
from redolab.records.kill_rule import HIGHEST_AGE, KillRule
from redolab.records.recovery import Outcome
from redolab.servers.catalogue import server_catalogue
from redolab.units import MIB
from tests.examples import MACHINE, image, keyed, record, trial

_WORLDS = 30


def measured(
    level: str, image: str, seconds: float, *, slower_apply: float = 0.0, factor: str = "tables"
) -> MeasuredCase:
    made = msgspec.structs.replace(trial(seconds, slower_apply=slower_apply), image=image)
    return MeasuredCase(
        "mariadb-10.11", BASELINE if level == BASELINE else factor, level, made, keyed(record(made)).key
    )


def found() -> dict[str, FactorEffect]:
    """A baseline whose crashes lie 6 % apart, and three crashes of each level."""

    def crashes(level: str, seconds: float, *, slower_apply: float = 0.0) -> list[MeasuredCase]:
        return [
            measured(level, f"{level}-{number}", seconds * 1.06**number * (1 + sign / 50), slower_apply=slower_apply)
            for number in (-1, 0, 1)
            for sign in (-1, 0, 1)
        ]

    base = crashes(BASELINE, 3.5)
    many = crashes("20,000 files", 7.3, slower_apply=4.0)
    few = crashes("2,000 files", 3.6)
    return {each.level: each for each in effects([*base, *many, *few])}


def test_the_change_buffer_is_no_reason_where_it_changed_nothing() -> None:
    """With *none* as with *all* no recovery ended: what both have in common is the reason."""
    base = [measured(BASELINE, f"{BASELINE}-{number}", 3.5) for number in range(3)]
    stuck = [
        replace(each, trial=msgspec.structs.replace(each.trial, outcome=Outcome.STUCK, seconds_to_ready=None))
        for level in ("none (secondary index, small pool)", "all (secondary index, small pool)")
        for each in [measured(level, level, 1.0, factor=CHANGE_BUFFER)]
    ]
    assert "never ready: secondary index, log filled with a small pool" in answer(effects([*base, *stuck]))
    ready = measured("all (secondary index, small pool)", "all", 3.6, factor=CHANGE_BUFFER)
    assert "never ready: change buffer (0 of 1)" in answer(effects([*base, stuck[0], ready]))


def test_what_is_added_is_a_share_of_the_baseline_with_what_crashes_differ_by_in_the_interval() -> None:
    of = found()
    assert of[BASELINE].added == pytest.approx(0)
    assert of["20,000 files"].added == pytest.approx(3.8, rel=0.01)
    assert of["20,000 files"].ratio.change == pytest.approx(7.3 / 3.5 - 1, rel=0.01)
    assert (of["20,000 files"].stands, of["20,000 files"].phase) == (True, "apply")
    assert of["20,000 files"].ratio.low < 7.3 / 3.5 - 1 < of["20,000 files"].ratio.high
    # 0.1 s more than a baseline whose crashes lie 0.2 s apart is nothing.
    assert not of["2,000 files"].ratio.excludes_zero
    assert not of["2,000 files"].stands


def test_a_level_recovered_from_the_baselines_own_crashes_is_compared_crash_by_crash() -> None:
    """What crashes differ by is not in it."""
    crashes = {"a": 2.0, "b": 4.0, "c": 8.0}
    base = [measured(BASELINE, name, seconds) for name, seconds in crashes.items()]
    own = [measured("64M", name, 1.1 * seconds + 0.01) for name, seconds in crashes.items()]
    apart = [measured("1G", name * 2, 1.1 * seconds + 0.01) for name, seconds in crashes.items()]
    of = {each.level: each for each in effects([*base, *own, *apart])}
    assert of["64M"].ratio.excludes_zero
    assert not of["1G"].ratio.excludes_zero


def test_a_level_of_one_crash_is_as_uncertain_as_crashes_of_baselines_differ() -> None:
    base = [measured(BASELINE, f"base-{number}", 3.5 * 1.06**number) for number in (-1, 0, 1)]
    of = effects([*base, measured("20,000 files", "one", 7.0)])[-1]
    # Student's t with 2 degrees of freedom, a spread of ln 1.06 between crashes, and one crash beside three.
    reach = 4.303 * math.log(1.06) * math.sqrt(1 + 1 / 3)
    assert math.log1p(of.ratio.high) == pytest.approx(math.log(2) + reach, rel=0.001)
    assert math.log1p(of.ratio.low) == pytest.approx(math.log(2) - reach, rel=0.001)


def test_one_of_twenty_levels_that_leaves_out_zero_by_chance_does_not_stand() -> None:
    """A world in which no level changes anything, seen again and again."""
    random = np.random.default_rng(20261126)
    stood, left_out = 0, 0
    for _ in range(_WORLDS):
        values = iter(3.5 * np.exp(0.05 * random.standard_normal(63)))
        levels = [BASELINE, *(f"level {number}" for number in range(20))]
        world = [measured(level, f"{level}-{crash}", float(next(values))) for level in levels for crash in range(3)]
        of = effects(world)
        stood += any(each.stands for each in of)
        left_out += sum(each.ratio.excludes_zero for each in of)
    assert stood <= _WORLDS * 0.05 + 3 * math.sqrt(_WORLDS * 0.05 * 0.95)
    assert left_out > _WORLDS / 4


def test_a_log_that_ends_before_the_server_was_ready_names_no_phase() -> None:
    """What it lacks is the longest of it, as in a log that was misread."""
    timeline = trial().timeline
    assert timeline is not None
    cut = msgspec.structs.replace(timeline, seconds_to_ready=None, ready=None)
    base = [measured(BASELINE, f"base-{number}", 3.3 + number / 10) for number in range(3)]
    short = [
        replace(each, trial=msgspec.structs.replace(each.trial, timeline=cut))
        for each in (measured("5,000", "many", seconds) for seconds in (7.3, 7.4, 7.5))
    ]
    assert effects([*base, *short])[-1].phase == ""


def test_a_baseline_of_one_crash_tells_no_interval() -> None:
    alone = effects([measured(BASELINE, "a", 3.3), measured("20,000 files", "c", 9.0)])
    assert math.isnan(alone[-1].ratio.low)
    assert not alone[-1].stands
    assert "+173 %" in effects_table(alone).cells[-1]


def test_a_level_is_compared_with_the_baseline_of_its_own_machine() -> None:
    elsewhere = keyed(machine=msgspec.structs.replace(MACHINE, cpu="another CPU")).key
    here = [measured(BASELINE, "a", 3.4), measured(BASELINE, "b", 3.4), measured("20,000 files", "c", 9.0)]
    there = [
        replace(each, key=elsewhere) for each in (measured(BASELINE, "d", 30.0), measured("20,000 files", "e", 33.0))
    ]
    of = effects([*here, *there])
    assert {
        each.label.partition(" of ")[2].partition(",")[0]: round(each.added, 1) for each in of if each.level != BASELINE
    } == {
        "a CPU": 5.6,
        "another CPU": 3.0,
    }
    assert [each.on for each in effects(here)] == ["", ""]


def test_runs_whose_baselines_were_made_otherwise_are_not_put_together() -> None:
    def filled(rule: KillRule, run: str, *levels: tuple[str, float]) -> list[MeasuredCase]:
        crash = msgspec.structs.replace(image(), spec=msgspec.structs.replace(image().spec, kill=rule))
        return [
            replace(measured(level, level, seconds), key=keyed(None, crash).key, run=run, crash=rule.filled_to())
            for level, seconds in levels
        ]

    old = filled(KillRule(), "old", (BASELINE, 3.0), ("20,000 files", 5.0))
    new = filled(HIGHEST_AGE, "new", (BASELINE, 4.0), ("20,000 files", 5.0))
    again = filled(HIGHEST_AGE, "again", (BASELINE, 6.0), ("2,000 files", 5.5))
    of = effects([*old, *new, *again])
    assert {(each.baseline, each.level): (round(each.base, 3), round(each.added, 3)) for each in of} == {
        (1, BASELINE): (3.0, 0.0),
        (1, "20,000 files"): (3.0, 2.0),
        (2, BASELINE): (4.899, 0.0),
        (2, "20,000 files"): (4.899, 0.101),
        (2, "2,000 files"): (4.899, 0.601),
    }
    assert list(dict.fromkeys(each.label for each in of)) == ["MariaDB 10.11.19", "MariaDB 10.11.19, baseline 2"]


@pytest.mark.parametrize("name", server_catalogue().names())
def test_every_case_is_one_that_the_server_can_have(name: str) -> None:
    wanted = cases(512 * MIB, list(FACTORS), server_catalogue().get(name).dialect())
    assert wanted[0].factor == BASELINE
    assert len({(case.factor, case.level) for case in wanted}) == len(wanted)
    factors = {case.factor for case in wanted}
    assert ("change buffer" in factors) == (not name.startswith("mariadb-11"))
    assert ("prepared XA transactions" in factors) == (name not in ("mysql-5.5", "mysql-5.6", "mariadb-10.2"))


def test_crashes_of_two_machines_of_a_class_are_no_baseline_together() -> None:
    """One recovers more slowly than the other, though their descriptions are alike."""
    one = [
        replace(measured(level, f"{level}-1", seconds), run="one", crash="full", machine="1")
        for level, seconds in ((BASELINE, 3.0), ("20,000 files", 5.0))
    ]
    other = [
        replace(measured(level, f"{level}-2", seconds), run="other", crash="full", machine="2")
        for level, seconds in ((BASELINE, 6.0), ("20,000 files", 8.0))
    ]
    of = effects([*one, *other])
    assert {(each.baseline, round(each.base, 3), round(each.added, 3)) for each in of if each.level != BASELINE} == {
        (1, 3.0, 2.0), (2, 6.0, 2.0),
    }  # fmt: skip
