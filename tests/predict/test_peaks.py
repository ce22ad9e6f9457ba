"""The busiest hour of a month from those of some days: in made-up months it is as sure as it says."""

from __future__ import annotations

import numpy as np
import pytest

from redolab.predict.peaks import highest_expected


def test_too_few_days_say_nothing() -> None:
    assert highest_expected([1.0, 2.0], 30) is None


@pytest.mark.parametrize("days", [3, 7, 30])
def test_a_month_stays_below_it_as_often_as_it_says(days: int) -> None:
    draw = np.random.default_rng(days)
    below = 0
    worlds = 1000
    for _ in range(worlds):
        peaks = np.exp(draw.normal(0, 0.3, days))
        month = np.exp(draw.normal(0, 0.3, 30)).max()
        below += month <= (highest_expected(list(peaks), 30) or 0)
    # Bonferroni allows less than it says, never more: of 1,000 worlds 95 % are 929 or more.
    assert below / worlds >= 0.929


def test_more_days_to_come_may_be_higher() -> None:
    peaks = [2.0, 2.5, 2.2, 3.0]
    assert (highest_expected(peaks, 7) or 0) < (highest_expected(peaks, 30) or 0)
