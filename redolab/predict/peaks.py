"""Upper bound of the busiest hour of many coming days, from the busiest hours of some days."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import scipy

FEWEST_DAYS = 3
"""Fewest days for a bound: two days hardly show by how much days differ."""


def highest_expected(peaks: Sequence[float], days: int, share: float = 0.95) -> float | None:
    """Return an upper bound of the highest of `days` coming daily peaks, at confidence `share`.

    Returns None for fewer than `FEWEST_DAYS` peaks. `peaks` has the busiest hour of each day, above 0; the result has
    the same unit. Logarithms are taken as normal and days as independent, so each coming day gets its share of the
    allowed error (Bonferroni): a simultaneous prediction interval (Hahn and Meeker, Statistical Intervals, section
    4.8). Growth from month to month is not considered.
    """
    if len(peaks) < FEWEST_DAYS:
        return None
    logarithms = [math.log(peak) for peak in peaks]
    freedom = len(peaks) - 1
    reach = float(scipy.stats.t.ppf(1 - (1 - share) / days, freedom)) * statistics.stdev(logarithms)
    return math.exp(statistics.fmean(logarithms) + reach * math.sqrt(1 + 1 / len(peaks)))
