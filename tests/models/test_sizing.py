"""Sizes: which hold an hour, which recover in time, which lose nothing, and the choice among them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from redolab.models.intervals import Ratio
from redolab.models.recovery_time.predict import Prediction
from redolab.models.recovery_time.spread import Spread
from redolab.models.recovery_time.terms import Part
from redolab.models.sizing import SHOWN, Advice, Basis, Limits, advise, is_resolved
from redolab.units import GIB, MIB


def predicted(log_size: int) -> Prediction:
    """10 s for each GiB, give or take a fifth."""
    seconds = 10 * log_size / GIB
    return Prediction({Part.SCAN: seconds}, 0.0, seconds, Spread(deviation=0.1, count=30))


def advice(
    redo_per_hour: float,
    rto: float,
    *,
    smallest: int = 4 * MIB,
    largest: int = 512 * GIB,
    lost: Mapping[int, Ratio | None] | None = None,
    chance: float = 0.05,
) -> Advice:
    """Recoveries are too long in a share of crashes that is 5 % where they take 10/12 of the time, and grows from there."""
    return advise(
        redo_per_hour=redo_per_hour,
        limits=Limits(rto=rto, chance=chance),
        age=lambda size: size * 7 // 10,
        predicted=predicted,
        chance=lambda size: min(1.0, 0.05 * 12 * size / GIB / rto),
        smallest=smallest,
        largest=largest,
        lost=(lost or {}).get,
    )


def loss(change: float, low: float, high: float) -> Ratio:
    return Ratio(change, low, high, 3)


def test_the_answer_holds_an_hour_and_recovers_in_time() -> None:
    found = advice(2.7 * GIB, 60)
    assert found.holds is not None
    assert found.within is not None
    assert found.within_median is not None
    assert found.holds.log_size == 4 * GIB
    assert found.holds.age >= 2.7 * GIB
    assert found.within.log_size == 5 * GIB - 256 * MIB
    assert found.within_median.log_size == 6 * GIB
    assert found.answer == found.holds
    assert found.basis is Basis.HOUR
    assert found.holds.minutes == pytest.approx(62.2, abs=0.1)


def test_where_an_hour_does_not_recover_in_time_the_largest_that_does_is_set() -> None:
    found = advice(7.15 * GIB, 60)
    assert found.holds is not None
    assert found.holds.log_size == 11 * GIB
    assert (found.basis, found.answer) == (Basis.TIME, found.within)
    none_in_time = advice(2.7 * GIB, 0.1)
    assert (none_in_time.within, none_in_time.answer, none_in_time.basis) == (None, None, None)
    assert none_in_time.smallest.log_size == 64 * MIB


def test_with_more_chance_a_larger_log_is_within() -> None:
    few, many = advice(7.15 * GIB, 60).within, advice(7.15 * GIB, 60, chance=0.2).within
    assert few is not None
    assert many is not None
    assert many.log_size > 3 * few.log_size


def test_the_smallest_that_is_known_to_lose_little_goes_before_the_hour() -> None:
    lost = {256 * MIB: loss(0.06, 0.04, 0.08), GIB: loss(0.01, -0.01, 0.02), 2 * GIB: loss(0.0, -0.01, 0.01)}
    found = advice(2.7 * GIB, 60, lost=lost)
    assert (found.basis, found.answer) == (Basis.THROUGHPUT, found.keeps)
    assert found.answer is not None
    assert found.answer.log_size == GIB
    # Where it does not recover in time, throughput decides nothing.
    late = advice(2.7 * GIB, 6, lost=lost)
    assert (late.basis, late.keeps and late.keeps.log_size) == (Basis.TIME, GIB)


def test_a_loss_that_is_not_told_decides_nothing() -> None:
    found = advice(2.7 * GIB, 60, lost={GIB: loss(0.01, -0.04, 0.06), 2 * GIB: None})
    assert (found.keeps, found.basis) == (None, Basis.HOUR)
    assert not is_resolved(loss(0.01, -0.04, 0.06), 0.03)
    assert is_resolved(loss(0.01, -0.01, 0.02), 0.03)
    assert is_resolved(loss(0.05, 0.01, 0.09), 0.03)


def test_what_a_server_cannot_have_is_not_said() -> None:
    found = advice(100 * GIB, 60, largest=4 * GIB)
    assert found.holds is None
    assert [row.log_size for row in found.rows] == [size for size in SHOWN if size <= 4 * GIB]
    assert found.within is not None
    assert found.within.log_size == 4 * GIB
    assert found.basis is Basis.TIME
