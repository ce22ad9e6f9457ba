"""A crash on an ordinary day: whose ages it is expected at, and what it then costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest

from redolab.predict.advising import CrashTime, Sizing, sized
from redolab.predict.chance_of_stuck import chance_for
from redolab.predict.demand import Demand
from redolab.predict.log_size import Limits
from redolab.predict.question import Model
from redolab.predict.usual import UsualAges, UsualRecovery, usual_ages, usual_crashes, usual_recovery
from redolab.units import GIB, MIB
from tests.predict.examples import given, model, size_for, with_load

_AGES = tuple(int(GIB * share / 100) for share in range(10, 70))
SAMPLED = Demand(redo_per_hour=0.3 * GIB, source="as given", ages=_AGES, age_limit=GIB, sampled_s=3600.0)


NEARLY_FULL, LOW = (0.9,) * 20, (0.3,) * 20


def _with_ages(ages: Mapping[int, tuple[float, ...]]) -> Model:
    """Return a model of a server with checkpoint ages at random times, by log size as shares of the limit."""
    return model(known=with_load("mariadb-10.11", moments={"local": ages}))


def _usual(asked: Model, demand: Demand) -> UsualAges:
    found = usual_ages(asked, demand)
    assert found is not None
    return found


def _recovery(asked: Model) -> UsualRecovery:
    return usual_recovery(usual_crashes(asked, 8 * GIB, _usual(asked, SAMPLED)), 1e9)


def test_the_ages_of_samples_go_before_those_of_a_load() -> None:
    asked = _with_ages({256 * MIB: NEARLY_FULL})
    assert max(_usual(asked, SAMPLED).at(GIB)) == pytest.approx(0.69 * GIB)
    assert set(_usual(asked, given(GIB)).at(GIB)) == {0.9 * GIB}


def test_the_ages_of_a_server_just_started_are_not_typical() -> None:
    """Until its log has been filled, the age only rises."""
    asked, shortly = _with_ages({256 * MIB: NEARLY_FULL}), replace(SAMPLED, sampled_s=120.0)
    assert set(_usual(asked, shortly).at(GIB)) == {0.9 * GIB}
    # At 100G an hour a log of 1G is filled three times in these two minutes.
    assert max(_usual(asked, replace(shortly, redo_per_hour=100 * GIB)).at(GIB)) == pytest.approx(0.69 * GIB)


def test_without_ages_nothing_is_said() -> None:
    assert usual_ages(model(), given(GIB)) is None
    assert usual_ages(model(), replace(given(GIB), ages=_AGES[:3], age_limit=GIB)) is None
    assert size_for(model(), 0.3 * GIB, 300).usual_from is None


def test_a_usual_crash_is_recovered_sooner_than_the_worst_and_is_missed_less() -> None:
    usual = []
    for row in sized(model(), SAMPLED, Limits(rto=300)).table:
        assert row.usual is not None
        assert row.usual.half_s < row.recovery_s
        assert row.usual.half_s < row.usual.ninety_five_s
        usual.append(row.usual.too_long)
    assert [each.whole for each in usual] == sorted(each.whole for each in usual)
    assert all(each.whole == pytest.approx(each.stuck + each.moment + each.model) for each in usual)


def test_recoveries_that_get_stuck_count_as_too_long() -> None:
    asked = model("mysql-9")
    chance = chance_for(asked)
    assert chance is not None
    share = chance.mean
    assert 0 < share < 1
    found = _recovery(asked.with_pool(64 * MIB))
    assert found.too_long.stuck == pytest.approx(share)
    assert found.too_long.whole == pytest.approx(share, abs=1e-3)
    assert math.isinf(found.ninety_five_s) == (share > 0.05)
    # A pool that only just holds the redo by the fit may not hold that of another crash.
    age = asked.worst_age(GIB)
    just = asked.with_pool(math.ceil(1.02 * asked.fitted.memory.needed(asked.crash_at(age))))
    assert just.work_at(age).batches == 1
    assert just.may_take_batches(age)
    assert not asked.with_pool(asked.one_batch(GIB) + 1).may_take_batches(age)
    # Where all redo fits at once none gets stuck.
    assert _recovery(asked.with_pool(64 * GIB)).too_long.stuck == 0


def test_of_several_logs_the_nearest_is_taken() -> None:
    asked = _with_ages({256 * MIB: NEARLY_FULL, GIB: LOW})
    found = _usual(asked, given(GIB))
    limits = [asked.worst_age(size) for size in (64 * MIB, 256 * MIB, 768 * MIB, 8 * GIB)]
    # A smaller log than the nearest is filled to as many bytes.
    assert [found.at(limit)[0] / limit for limit in limits] == pytest.approx([1.0, 0.9, 0.4, 0.3], rel=0.01)


def test_a_larger_log_is_set_where_only_a_random_crash_has_to_be_recovered_in_time() -> None:
    busy = replace(SAMPLED, redo_per_hour=60 * GIB)
    found = {crash: sized(model(), busy, Limits(rto=100), crash_time=crash) for crash in CrashTime}
    assert (found[CrashTime.ANY].size or 0) > (found[CrashTime.WORST].size or 0) > 0
    at_random = found[CrashTime.ANY].expected
    assert at_random is not None
    at_worst = Sizing(model(), busy, Limits(rto=100), crash_time=CrashTime.WORST).row(at_random.log_size)
    assert at_random.chance < 0.05 < at_worst.chance


def test_ninety_nine_in_a_hundred_are_told_from_ninety_nine_moments() -> None:
    many = replace(SAMPLED, ages=tuple(int(GIB * share / 200) for share in range(20, 121)))
    usual = [sized(model(), demand, Limits(rto=300)).table[0].usual for demand in (SAMPLED, many)]
    assert [each is not None and each.ninety_nine_s is not None for each in usual] == [False, True]


def test_a_smaller_log_than_the_sampled_one_is_expected_to_hold_as_many_bytes() -> None:
    ages = UsualAges({16 * GIB: (0.05, 0.1)}, "as in samples")
    assert ages.at(32 * GIB) == pytest.approx((1.6 * GIB, 3.2 * GIB))
    assert ages.at(8 * GIB) == pytest.approx((0.8 * GIB, 1.6 * GIB))
    assert ages.at(GIB) == pytest.approx((0.8 * GIB, GIB))
