"""A crash on an ordinary day: whose ages it is expected at, and what it then costs."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import pytest

from redolab.predict.advising import Moment, Sized, sized
from redolab.predict.asking import model_for
from redolab.predict.calibration import write_calibration
from redolab.predict.crash import crash_at, may_take_batches, one_batch, work_at, worst_age
from redolab.predict.demand import Demand
from redolab.predict.log_size import Limits
from redolab.predict.question import Model, Question
from redolab.predict.size_in_words import in_words
from redolab.predict.stuck import chance_for
from redolab.predict.usual import UsualAges, UsualRecovery, usual_ages, usual_crashes, usual_recovery
from redolab.units import GIB, MIB
from tests.predict.examples import calibration

_AGES = tuple(int(GIB * share / 100) for share in range(10, 70))
SAMPLED = Demand(redo_per_hour=0.3 * GIB, source="as given", ages=_AGES, age_limit=GIB, sampled_s=3600.0)


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return _model(tmp_path)


def _model(folder: Path, moments: dict[int, tuple[float, ...]] | None = None, server: str = "mariadb-10.11") -> Model:
    known = calibration()
    of_it = known.servers[server]
    learnt = msgspec.structs.replace(of_it.workloads["bulk-update"], moments={"local": moments} if moments else {})
    changed = msgspec.structs.replace(of_it, workloads={"bulk-update": learnt})
    path = folder / "calibration.json"
    write_calibration(path, msgspec.structs.replace(known, servers={**known.servers, server: changed}))
    return model_for(Question(server=server, storage=f"{path}:local", pool=2 * GIB))


def _usual(model: Model, demand: Demand) -> UsualAges:
    found = usual_ages(model, demand)
    assert found is not None
    return found


def _recovery(model: Model) -> UsualRecovery:
    return usual_recovery(usual_crashes(model, 8 * GIB, _usual(model, SAMPLED)), 1e9)


def test_the_ages_of_samples_go_before_those_of_a_load(tmp_path: Path) -> None:
    model = _model(tmp_path, {256 * MIB: tuple(0.9 for _ in range(20))})
    assert max(_usual(model, SAMPLED).at(GIB)) == pytest.approx(0.69 * GIB)
    without = Demand(redo_per_hour=GIB, source="as given")
    assert set(_usual(model, without).at(GIB)) == {0.9 * GIB}
    assert "20 crashes of mariadb-10.11 under bulk-update" in _usual(model, without).source


def test_the_ages_of_a_server_just_started_are_not_typical(tmp_path: Path) -> None:
    """Until its log has been filled, the age only rises."""
    model = _model(tmp_path, {256 * MIB: tuple(0.9 for _ in range(20))})
    shortly = replace(SAMPLED, sampled_s=120.0)
    assert set(_usual(model, shortly).at(GIB)) == {0.9 * GIB}
    # At 100G an hour a log of 1G is filled three times in these two minutes.
    assert max(_usual(model, replace(shortly, redo_per_hour=100 * GIB)).at(GIB)) == pytest.approx(0.69 * GIB)


def test_without_ages_nothing_is_said(model: Model) -> None:
    assert usual_ages(model, Demand(redo_per_hour=GIB, source="as given")) is None
    few = Demand(redo_per_hour=GIB, source="as given", ages=_AGES[:3], age_limit=GIB)
    assert usual_ages(model, few) is None
    found = sized(model, Demand(redo_per_hour=0.3 * GIB, source="as given"), Limits(rto=300))
    assert found.usual_from is None
    assert not any("random moment" in line for line in in_words(found))


def test_a_usual_crash_is_recovered_sooner_than_the_worst_and_is_missed_less(model: Model) -> None:
    found: Sized = sized(model, SAMPLED, Limits(rto=300))
    for row in found.table:
        assert row.usual is not None
        assert row.usual.half_s < row.recovery_s
        assert row.usual.half_s < row.usual.ninety_five_s
        parts = row.usual.too_long.stuck + row.usual.too_long.moment + row.usual.too_long.model
        assert row.usual.too_long.whole == pytest.approx(parts)
    chances = [row.usual.too_long.whole for row in found.table if row.usual is not None]
    assert chances == sorted(chances)
    assert any("After a crash at a random moment (ages as in the samples" in line for line in in_words(found))


def test_recoveries_that_get_stuck_count_as_too_long(tmp_path: Path) -> None:
    model = _model(tmp_path, server="mysql-9")
    chance = chance_for(model)
    assert chance is not None
    share = chance.mean
    assert 0 < share < 1
    small = model.with_pool(64 * MIB)
    found = _recovery(small)
    assert found.too_long.stuck == pytest.approx(share)
    assert found.too_long.whole == pytest.approx(share, abs=1e-3)
    assert math.isinf(found.ninety_five_s) == (share > 0.05)
    # A pool that only just holds the redo by the fit may not hold that of another crash.
    worst = crash_at(model, worst_age(model, GIB))
    just = math.ceil(1.02 * model.learned.memory.needed(worst))
    assert work_at(model.with_pool(just), int(worst.redo)).batches == 1
    assert may_take_batches(model.with_pool(just), int(worst.redo))
    assert not may_take_batches(model.with_pool(one_batch(model, GIB) + 1), int(worst.redo))
    # Where all redo fits at once none gets stuck.
    assert _recovery(model.with_pool(64 * GIB)).too_long.stuck == 0


def test_the_month_is_said_where_days_tell_it(model: Model) -> None:
    demand = Demand(redo_per_hour=0.3 * GIB, source="as given", month_per_hour=0.5 * GIB, days=5)
    said = in_words(sized(model, demand, Limits(rto=300)))
    assert "The busiest hour of a month stays below 512M, 95 % sure by 5 days that were sampled." in said


def test_of_several_logs_the_nearest_is_taken(tmp_path: Path) -> None:
    low, high = tuple(0.3 for _ in range(20)), tuple(0.9 for _ in range(20))
    model = _model(tmp_path, {256 * MIB: high, GIB: low})
    found = _usual(model, Demand(redo_per_hour=GIB, source="as given"))
    shares = [
        found.at(limit)[0] / limit
        for limit in map(partial(worst_age, model), (64 * MIB, 256 * MIB, 768 * MIB, 8 * GIB))
    ]
    # A smaller log than the nearest is filled to as many bytes.
    assert shares == pytest.approx([1.0, 0.9, 0.4, 0.3], rel=0.01)
    assert "40 crashes" in found.source
    assert "with logs of 256M to 1G" in found.source


def test_a_larger_log_is_set_where_only_a_random_crash_has_to_be_recovered_in_time(model: Model) -> None:
    found = {
        moment: sized(model, replace(SAMPLED, redo_per_hour=60 * GIB), Limits(rto=100), moment=moment)
        for moment in Moment
    }
    assert (found[Moment.ANY].size or 0) > (found[Moment.WORST].size or 0) > 0
    at_worst = found[Moment.ANY].expected
    assert at_worst is not None
    assert at_worst.chance < 0.05 < at_worst.chance_at_worst


def test_ninety_nine_in_a_hundred_are_told_from_ninety_nine_moments(model: Model) -> None:
    many = replace(SAMPLED, ages=tuple(int(GIB * share / 200) for share in range(20, 121)))
    told = [sized(model, demand, Limits(rto=300)).table[0].usual for demand in (SAMPLED, many)]
    assert [each is not None and each.ninety_nine_s is not None for each in told] == [False, True]


def test_a_smaller_log_than_the_sampled_one_is_expected_to_hold_as_many_bytes() -> None:
    ages = UsualAges({16 * GIB: (0.05, 0.1)}, "as in samples")
    assert ages.at(32 * GIB) == pytest.approx((1.6 * GIB, 3.2 * GIB))
    assert ages.at(8 * GIB) == pytest.approx((0.8 * GIB, 1.6 * GIB))
    assert ages.at(GIB) == pytest.approx((0.8 * GIB, GIB))
