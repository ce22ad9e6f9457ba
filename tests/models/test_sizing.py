"""Sizes: the smallest that holds an hour, the largest that recovers in time, and when no size does both."""

from __future__ import annotations

import pytest

from redolab.models.recovery_time.predict import Prediction
from redolab.models.recovery_time.terms import Part
from redolab.models.sizing import SHOWN, Advice, advise
from redolab.units import GIB, MIB


def predicted(log_size: int) -> Prediction:
    """10 s for each GiB, give or take a fifth."""
    seconds = 10 * log_size / GIB
    return Prediction(
        {Part.SCAN: seconds}, 0.0, seconds, (0.9 * seconds, 1.1 * seconds), (0.8 * seconds, 1.2 * seconds)
    )


def advice(redo_per_hour: float, rto: float, *, smallest: int = 4 * MIB, largest: int = 512 * GIB) -> Advice:
    return advise(
        redo_per_hour=redo_per_hour,
        rto=rto,
        age=lambda size: size * 7 // 10,
        predicted=predicted,
        smallest=smallest,
        largest=largest,
    )


def test_the_answer_holds_an_hour_and_recovers_in_time() -> None:
    found = advice(2.7 * GIB, 60)
    assert found.holds is not None
    assert found.within is not None
    assert found.within_median is not None
    assert found.holds.log_size == 4 * GIB
    assert found.holds.age >= 2.7 * GIB
    assert found.within.log_size == 5 * GIB
    assert found.within_median.log_size == 6 * GIB
    assert found.answer == found.holds
    assert found.holds.minutes == pytest.approx(62.2, abs=0.1)


def test_no_size_meets_both() -> None:
    found = advice(7.15 * GIB, 60)
    assert found.answer is None
    assert found.holds is not None
    assert found.holds.log_size == 11 * GIB
    none_in_time = advice(2.7 * GIB, 0.1)
    assert (none_in_time.within, none_in_time.answer) == (None, None)


def test_what_a_server_cannot_have_is_not_said() -> None:
    found = advice(100 * GIB, 60, largest=4 * GIB)
    assert found.holds is None
    assert [row.log_size for row in found.rows] == [size for size in SHOWN if size <= 4 * GIB]
    assert found.within is not None
    assert found.within.log_size == 4 * GIB
