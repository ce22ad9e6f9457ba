"""Recoveries after crashes at moments that nobody chose: quantiles and chances of a mixture."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolab.predict.recovery_time.moments import PossibleCrash, chance_beyond, seconds_within
from redolab.predict.recovery_time.spread import Spread

SURE = Spread(deviation=0.1, count=1000)


def _crashes(*seconds: float, stuck: float = 0.0, spread: Spread = SURE) -> list[PossibleCrash]:
    return [PossibleCrash(each, spread, stuck) for each in seconds]


def test_what_is_asked_for_is_the_chance_of_what_is_found() -> None:
    crashes = [*_crashes(5.0, 8.0, spread=Spread(deviation=0.4, count=6)), *_crashes(60.0, stuck=0.1)]
    for share in (0.05, 0.5, 0.9, 0.95):
        assert chance_beyond(crashes, seconds_within(crashes, share)).whole == pytest.approx(1 - share)


def test_stuck_recoveries_have_no_end() -> None:
    crashes = _crashes(10.0, stuck=0.2)
    assert seconds_within(crashes, 0.79) < 20
    assert math.isinf(seconds_within(crashes, 0.8))
    found = chance_beyond(crashes, 1e9)
    assert found.whole == pytest.approx(0.2)
    assert found.stuck == pytest.approx(0.2)


def test_the_parts_of_a_chance_add_up() -> None:
    found = chance_beyond([*_crashes(10.0, stuck=0.1), *_crashes(100.0)], 50.0)
    assert found.moment == pytest.approx(0.5)
    assert found.stuck == pytest.approx(0.05)
    assert found.whole == pytest.approx(found.stuck + found.moment + found.model)


@given(st.lists(st.floats(0.5, 5000), min_size=1, max_size=8), st.floats(0.01, 1.5), st.integers(1, 200))
def test_longer_times_are_less_likely_to_be_missed(seconds: list[float], deviation: float, count: int) -> None:
    crashes = _crashes(*seconds, spread=Spread(deviation=deviation, count=count))
    chances = [chance_beyond(crashes, limit).whole for limit in (1.0, 10.0, 100.0, 1000.0)]
    assert chances == sorted(chances, reverse=True)
    assert all(0 <= chance <= 1 for chance in chances)
