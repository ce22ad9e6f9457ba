"""Numbers are written in one way everywhere."""

from __future__ import annotations

import math

from redolab.report.intervals import RelativeChange
from redolab.report.numbers import (
    interval_of_median,
    median_with_interval,
    median_with_range,
    number,
    percent,
    signed,
    signed_span,
    span,
)


def test_a_number_has_its_places_and_no_negative_zero() -> None:
    assert (number(1234.5, 1), number(-0.001), number(None), number(math.nan)) == ("1,234.5", "0.00", "–", "–")
    assert (signed(1.5), signed(-0.001)) == ("+1.50", "+0.00")
    assert (percent(0.0814), percent(-0.00001), percent(None)) == ("+8.1%", "+0.0%", "–")


def test_a_range_is_one_number_where_its_ends_are_written_alike() -> None:
    assert (span([5.87, 1.0]), span([1.001, 1.002]), span([])) == ("1.00 to 5.87", "1.00", "–")
    assert (signed_span([5.87, -1.0], 1), signed_span([1.2, 0.8], 0)) == ("-1.0 to +5.9", "+1")
    assert median_with_range([3.0, 1.0, 2.0], 0) == "2 (1–3)"
    assert median_with_range([2.0, 2.0], 0) == "2"
    assert median_with_range([]) == "–"


def test_a_median_lies_between_two_of_the_values() -> None:
    """The ranks of published tables of the sign test at 95 %."""
    ranks = {6: (1, 6), 8: (1, 8), 9: (2, 8), 10: (2, 9), 12: (3, 10), 20: (6, 15), 25: (8, 18)}
    for count, expected in ranks.items():
        values = list(range(1, count + 1))
        assert interval_of_median([float(value) for value in reversed(values)]) == expected
    assert interval_of_median([1.0] * 5) is None


def test_six_values_have_an_interval_and_five_a_range() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 60.0]
    assert median_with_interval(values, 1) == "3.5 (1.0–60.0)"
    assert median_with_interval([*values, 7.0, 8.0, 9.0, 10.0], 1) == "6.0 (2.0–10.0)"
    assert median_with_interval(values[:5], 1) == "3.0 (1.0–5.0)"


def test_a_change_has_its_interval_if_that_is_known() -> None:
    change = RelativeChange(0.024, 0.006, 0.043, blocks=6)
    assert (change.with_interval(), change.with_interval(1)) == ("+2 % (+1 to +4)", "+2.4 % (+0.6 to +4.3)")
    assert RelativeChange(0.024, math.nan, math.nan, blocks=1).with_interval(1) == "+2.4 %"
