"""The anatomy's effects: the time that each level adds, its interval, and the phase that changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import polars
import pytest

from experiments.anatomy.experiment import FACTORS, cases
from experiments.anatomy.report import answer, levels, levels_table
from redolab.crash.records.recovery import Outcome
from redolab.results.anatomy import BASELINE, Row, effects
from redolab.results.measured import described
from redolab.results.rows import recovery_row
from redolab.servers.catalogue import server_catalogue
from redolab.units import MIB
from tests.examples import MACHINE, record, trial

_WORLDS = 30
_HERE = {"run": "run", "machine": "local", "identity": "", "cpu": MACHINE.cpu, "cores": MACHINE.cores}


def measured(
    level: str,
    image: str,
    seconds: float,
    *,
    slower_apply: float = 0.0,
    of_trial: Mapping[str, Any] = {},
    **columns: Any,
) -> Row:
    """A recovery of a level, with fields of its trial or columns changed."""
    recovery = record(msgspec.structs.replace(trial(seconds, slower_apply=slower_apply), image=image, **of_trial))
    factor = BASELINE if level == BASELINE else "tables"
    return {**_HERE, **recovery_row(recovery), "factor": factor, "level": level, **columns}


def crashes(level: str, seconds: float, *, spread: float = 1.01, **more: Any) -> list[Row]:
    """Three crashes of a level, each a factor slower than the one before."""
    return [measured(level, f"{level}-{number}", seconds * spread**number, **more) for number in (-1, 0, 1)]


def frame(*measured: Row) -> polars.DataFrame:
    return described(polars.DataFrame(measured, infer_schema_length=None))


def effects_of(*measured: Row) -> Sequence[Row]:
    return effects(frame(*measured)).to_dicts()


def by_level(*measured: Row) -> Mapping[str, Row]:
    return {row["level"]: row for row in effects_of(*measured)}


def excludes_zero(row: Row) -> bool:
    return bool(row["low"] > 0 or row["high"] < 0)


def test_the_answer_is_one_short_sentence_with_the_largest_significant_change_and_what_was_never_ready() -> None:
    never = {"outcome": Outcome.STUCK, "seconds_to_ready": None}
    stuck = [measured(level, level, 1.0, of_trial=never) for level in ("2 files", "3 files")]
    rows = levels(frame(*crashes(BASELINE, 3.5), *crashes("20,000 files", 7.0), *stuck))
    answered = answer(rows)
    told = ("MariaDB 10.11.19", "3.5 s", "+100 %", "20,000 files", "1 of 3", "2 never ready")
    assert [each for each in told if each not in answered] == []
    assert len(answered.split()) <= 30
    cells = [cell for row in levels_table(rows).cells for cell in row]
    assert cells.count("NOT READY (1)") == 2


def test_what_is_added_is_a_share_of_the_baseline_with_what_crashes_differ_by_in_the_interval() -> None:
    repeated = [
        each
        for noise in (0.98, 1.0, 1.02)
        for each in (
            *crashes(BASELINE, 3.5 * noise, spread=1.06),
            *crashes("20,000 files", 7.3 * noise, spread=1.06, slower_apply=4.0),
            *crashes("2,000 files", 3.6 * noise, spread=1.06),
        )
    ]
    of = by_level(*repeated)
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
    """The interval leaves out how much crashes differ."""
    images = {"a": 2.0, "b": 4.0, "c": 8.0}
    base = [measured(BASELINE, name, seconds) for name, seconds in images.items()]
    own = [measured("64M", name, 1.1 * seconds + 0.01) for name, seconds in images.items()]
    apart = [measured("1G", name * 2, 1.1 * seconds + 0.01) for name, seconds in images.items()]
    of = by_level(*base, *own, *apart)
    assert excludes_zero(of["64M"])
    assert not excludes_zero(of["1G"])


def test_a_level_of_one_crash_is_as_uncertain_as_crashes_of_baselines_differ() -> None:
    of = effects_of(*crashes(BASELINE, 3.5, spread=1.06), measured("20,000 files", "one", 7.0))[-1]
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
    """The part that it lacks is the longest, as in a log that was misread."""
    timeline = trial().timeline
    assert timeline is not None
    cut = {"timeline": msgspec.structs.replace(timeline, seconds_to_ready=None, ready=None)}
    assert effects_of(*crashes(BASELINE, 3.4), *crashes("5,000", 7.4, of_trial=cut))[-1]["phase"] is None


def test_a_level_is_compared_with_the_baseline_of_its_own_machine() -> None:
    elsewhere: dict[str, Any] = {"cpu": "another CPU", "machine": "local (2)"}
    here = [measured(BASELINE, "a", 3.4), measured(BASELINE, "b", 3.4), measured("20,000 files", "c", 9.0)]
    there = [measured(BASELINE, "d", 30.0, **elsewhere), measured("20,000 files", "e", 33.0, **elsewhere)]
    rows = levels(frame(*here, *there))
    assert {row["label"]: round(row["added"], 1) for row in rows if row["level"] != BASELINE} == {
        "MariaDB 10.11.19 on local": 5.6,
        "MariaDB 10.11.19 on local (2)": 3.0,
    }
    of_both = effects_of(*here, *there)
    assert {round(row["added"], 1) for row in of_both if row["level"] != BASELINE} == {5.6, 3.0}
    assert {row["label"] for row in levels(frame(*here))} == {"MariaDB 10.11.19"}


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
    of = effects_of(
        *(
            measured(level, f"{level}-{machine}", seconds, run=machine, identity=machine)
            for machine, base in (("one", 3.0), ("other", 6.0))
            for level, seconds in ((BASELINE, base), ("20,000 files", base + 2.0))
        )
    )
    added = {(round(each["base"], 3), round(each["added"], 3)) for each in of if each["level"] != BASELINE}
    assert added == {(3.0, 2.0), (6.0, 2.0)}
