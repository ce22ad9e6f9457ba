"""Numbers as text, the same in every table, plot and answer. Sizes, durations and counts are in `redolab.units`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

NONE = "–"
"""Text for a missing value."""
_FEWEST = 6
"""Fewest values with a 95 % interval of their median."""


def number(value: float | None, places: int = 2) -> str:
    """Return a number as in `1,234.5`; a dash for None."""
    if value is None or math.isnan(value):
        return NONE
    # Avoid -0.0.
    return f"{round(value, places) + 0.0:,.{places}f}"


def signed(value: float | None, places: int = 2) -> str:
    """Return a signed number as in `+1.50`."""
    if value is None or math.isnan(value):
        return NONE
    return f"{round(value, places) + 0.0:+,.{places}f}"


def percent(share: float | None, places: int = 1) -> str:
    """Return a share such as 0.015 as in `+1.5%`."""
    # Avoid -0.0%.
    return NONE if share is None else f"{round(share, places + 2) + 0.0:+.{places}%}"


def span(values: Sequence[float], places: int = 2, between: str = " to ") -> str:
    """Return a range as in `1.00 to 5.87`, or `1.00` if both ends look the same; a dash for no values."""
    if not values:
        return NONE
    return between.join(dict.fromkeys((number(min(values), places), number(max(values), places))))


def signed_span(values: Sequence[float], places: int = 2) -> str:
    """Return a range of signed numbers as in `-1.50 to +5.87`, or `+1.00` if both ends look the same."""
    return " to ".join(dict.fromkeys((signed(min(values), places), signed(max(values), places))))


def median_with_range(values: Sequence[float], places: int = 2) -> str:
    """Return median and range as in `12.3 (4.5–67.8)`; the median alone if the ends look the same."""
    return _median_between(values, (min(values), max(values)), places) if values else NONE


def _median_between(values: Sequence[float], ends: tuple[float, float], places: int) -> str:
    median, between = number(statistics.median(values), places), span(ends, places, "–")
    return median if median == between else f"{median} ({between})"


def interval_of_median(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of a median, from one of the values to another, whatever their distribution (sign test).

    None for fewer than six values, which have no such interval (Conover, Practical Nonparametric Statistics, 3.2).
    """
    if len(values) < _FEWEST:
        return None
    import scipy

    # scipy-stubs take it for a float.
    interval: Any = scipy.stats.quantile_test(values, q=0.0, p=0.5).confidence_interval(0.95)
    return float(interval.low), float(interval.high)


def median_with_interval(values: Sequence[float], places: int = 2) -> str:
    """Return median and 95 % interval as in `12.3 (10.1–14.0)`; the range for fewer than six values."""
    interval = interval_of_median(values)
    return median_with_range(values, places) if interval is None else _median_between(values, interval, places)
