"""What the anatomy makes of its recoveries: what each level adds, how sure that is, and in which phase."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from experiments.anatomy.experiment import FACTORS, cases
from experiments.anatomy.report import answer, levels, levels_table
from redolab.crash.records.recovery import Outcome, RecoveryTrial
from redolab.results.alike import Keyed
from redolab.results.anatomy import BASELINE, Case, as_cases, effects
from redolab.servers.catalogue import server_catalogue
from redolab.units import MIB
from tests.examples import MACHINE, keyed, record, trial

_WORLDS = 30
Measured = tuple[Keyed, Case]
_KEYED = keyed()


def measured(level: str, image: str, seconds: float, *, slower_apply: float = 0.0, factor: str = "tables") -> Measured:
    return changed(
        (_KEYED, Case(BASELINE if level == BASELINE else factor, level)),
        msgspec.structs.replace(trial(seconds, slower_apply=slower_apply), image=image),
    )


def changed(case: Measured, trial: RecoveryTrial | None = None, **of_keyed: Any) -> Measured:
    """Return a case with another trial, or with fields of `Keyed` changed."""
    recovery = record(case[0].trial if trial is None else trial)
    return replace(case[0], recovery=recovery, **of_keyed), case[1]


def effects_of(*measured: Measured) -> Sequence[Mapping[str, Any]]:
    return effects(as_cases(measured)).to_dicts()


def by_level(*measured: Measured) -> Mapping[str, Mapping[str, Any]]:
    return {row["level"]: row for row in effects_of(*measured)}


def excludes_zero(row: Mapping[str, Any]) -> bool:
    return bool(row["low"] > 0 or row["high"] < 0)


def found() -> Mapping[str, Mapping[str, Any]]:
    """A baseline whose crashes lie 6 % apart, and three crashes of each level."""

    def crashes(level: str, seconds: float, *, slower_apply: float = 0.0) -> list[Measured]:
        return [
            measured(level, f"{level}-{number}", seconds * 1.06**number * (1 + sign / 50), slower_apply=slower_apply)
            for number in (-1, 0, 1)
            for sign in (-1, 0, 1)
        ]

    base = crashes(BASELINE, 3.5)
    many = crashes("20,000 files", 7.3, slower_apply=4.0)
    few = crashes("2,000 files", 3.6)
    return by_level(*base, *many, *few)


def test_the_answer_is_one_short_sentence_with_the_largest_significant_change_and_what_was_never_ready() -> None:
    base = [measured(BASELINE, f"{BASELINE}-{number}", 3.5 * 1.01**number) for number in range(3)]
    slow = [measured("20,000 files", f"many-{number}", 7.0 * 1.01**number) for number in range(3)]
    stuck = [
        changed(each, msgspec.structs.replace(each[0].trial, outcome=Outcome.STUCK, seconds_to_ready=None))
        for each in (measured(level, level, 1.0, factor="change buffer") for level in ("none", "all"))
    ]
    rows = levels(as_cases([*base, *slow, *stuck]))
    answered = answer(rows)
    told = ("MariaDB 10.11.19", "3.5 s", "+100 %", "20,000 files", "1 of 3", "2 never ready")
    assert [each for each in told if each not in answered] == []
    assert len(answered.split()) <= 30
    cells = [cell for row in levels_table(rows).cells for cell in row]
    assert cells.count("NOT READY (1)") == 2


def test_what_is_added_is_a_share_of_the_baseline_with_what_crashes_differ_by_in_the_interval() -> None:
    of = found()
    many, few = of["20,000 files"], of["2,000 files"]
    assert of[BASELINE]["added"] is None
    assert many["added"] == pytest.approx(3.8, rel=0.01)
    assert many["change"] == pytest.approx(7.3 / 3.5 - 1, rel=0.01)
    assert (many["stands"], many["phase"]) == (True, "apply")
    assert many["low"] < 7.3 / 3.5 - 1 < many["high"]
    # 0.1 s more than a baseline whose crashes lie 0.2 s apart is nothing.
    assert not excludes_zero(few)
    assert not few["stands"]


def test_a_level_recovered_from_the_baselines_own_crashes_is_compared_crash_by_crash() -> None:
    """What crashes differ by is not in it."""
    crashes = {"a": 2.0, "b": 4.0, "c": 8.0}
    base = [measured(BASELINE, name, seconds) for name, seconds in crashes.items()]
    own = [measured("64M", name, 1.1 * seconds + 0.01) for name, seconds in crashes.items()]
    apart = [measured("1G", name * 2, 1.1 * seconds + 0.01) for name, seconds in crashes.items()]
    of = by_level(*base, *own, *apart)
    assert excludes_zero(of["64M"])
    assert not excludes_zero(of["1G"])


def test_a_level_of_one_crash_is_as_uncertain_as_crashes_of_baselines_differ() -> None:
    base = [measured(BASELINE, f"base-{number}", 3.5 * 1.06**number) for number in (-1, 0, 1)]
    of = effects_of(*base, measured("20,000 files", "one", 7.0))[-1]
    # Student's t with 2 degrees of freedom, a spread of ln 1.06 between crashes, and one crash beside three.
    reach = 4.303 * math.log(1.06) * math.sqrt(1 + 1 / 3)
    assert math.log1p(of["high"]) == pytest.approx(math.log(2) + reach, rel=0.001)
    assert math.log1p(of["low"]) == pytest.approx(math.log(2) - reach, rel=0.001)


def test_one_of_twenty_levels_that_leaves_out_zero_by_chance_does_not_stand() -> None:
    """A world in which no level changes anything, seen again and again."""
    random = np.random.default_rng(20261126)
    stood, left_out = 0, 0
    for _ in range(_WORLDS):
        values = iter(3.5 * np.exp(0.05 * random.standard_normal(63)))
        names = [BASELINE, *(f"level {number}" for number in range(20))]
        world = [measured(level, f"{level}-{crash}", float(next(values))) for level in names for crash in range(3)]
        of = [each for each in effects_of(*world) if each["factor"] != BASELINE]
        stood += any(each["stands"] for each in of)
        left_out += sum(map(excludes_zero, of))
    assert stood <= _WORLDS * 0.05 + 3 * math.sqrt(_WORLDS * 0.05 * 0.95)
    assert left_out > _WORLDS / 4


def test_a_log_that_ends_before_the_server_was_ready_names_no_phase() -> None:
    """What it lacks is the longest of it, as in a log that was misread."""
    timeline = trial().timeline
    assert timeline is not None
    cut = msgspec.structs.replace(timeline, seconds_to_ready=None, ready=None)
    base = [measured(BASELINE, f"base-{number}", 3.3 + number / 10) for number in range(3)]
    short = [
        changed(each, msgspec.structs.replace(each[0].trial, timeline=cut))
        for each in (measured("5,000", "many", seconds) for seconds in (7.3, 7.4, 7.5))
    ]
    assert effects_of(*base, *short)[-1]["phase"] is None


def test_a_level_is_compared_with_the_baseline_of_its_own_machine() -> None:
    elsewhere = keyed(machine=msgspec.structs.replace(MACHINE, cpu="another CPU")).key
    here = [measured(BASELINE, "a", 3.4), measured(BASELINE, "b", 3.4), measured("20,000 files", "c", 9.0)]
    there = [
        changed(each, key=elsewhere, machine="local (2)")
        for each in (measured(BASELINE, "d", 30.0), measured("20,000 files", "e", 33.0))
    ]
    rows = levels(as_cases([*here, *there]))
    assert {row["label"]: round(row["added"], 1) for row in rows if row["level"] != BASELINE} == {
        "MariaDB 10.11.19 on local": 5.6,
        "MariaDB 10.11.19 on local (2)": 3.0,
    }
    of_both = effects_of(*here, *there)
    assert {round(row["added"], 1) for row in of_both if row["level"] != BASELINE} == {5.6, 3.0}
    assert {row["label"] for row in levels(as_cases(here))} == {"MariaDB 10.11.19"}


@pytest.mark.parametrize("name", server_catalogue().names())
def test_every_case_is_one_that_the_server_can_have(name: str) -> None:
    wanted = cases(512 * MIB, FACTORS, server_catalogue().get(name).dialect())
    assert wanted[0].factor == BASELINE
    assert len({(case.factor, case.level) for case in wanted}) == len(wanted)
    factors = {case.factor for case in wanted}
    assert ("change buffer" in factors) == (not name.startswith("mariadb-11"))
    assert ("prepared XA transactions" in factors) == (name not in ("mysql-5.5", "mysql-5.6", "mariadb-10.2"))


def test_crashes_of_two_machines_of_a_class_are_no_baseline_together() -> None:
    """One recovers more slowly than the other, though their descriptions are alike."""
    one = [
        changed(measured(level, f"{level}-1", seconds), run="one", identity="1")
        for level, seconds in ((BASELINE, 3.0), ("20,000 files", 5.0))
    ]
    other = [
        changed(measured(level, f"{level}-2", seconds), run="other", identity="2")
        for level, seconds in ((BASELINE, 6.0), ("20,000 files", 8.0))
    ]
    of = effects_of(*one, *other)
    assert {(round(each["base"], 3), round(each["added"], 3)) for each in of if each["level"] != BASELINE} == {
        (3.0, 2.0), (6.0, 2.0),
    }  # fmt: skip
