"""How high the busiest hour of many days may be, from those of some days."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import scipy

FEWEST_DAYS = 3
"""Of fewer nothing is said: two days tell hardly by how much days differ."""


def highest_expected(peaks: Sequence[float], days: int, share: float = 0.95) -> float | None:
    """What the highest of so many coming days stays below, with that certainty; None from fewer than `FEWEST_DAYS` peaks.

    `peaks`: of each day its busiest hour, above 0, in any unit, which is that of the result. Logarithms are taken as normal and
    days as independent, so that each of the coming days has its share of what is allowed (Bonferroni): a simultaneous
    prediction interval (Hahn and Meeker, Statistical Intervals, section 4.8). A month that grows has no part in it.
    """
    if len(peaks) < FEWEST_DAYS:
        return None
    logarithms = [math.log(peak) for peak in peaks]
    freedom = len(peaks) - 1
    reach = float(scipy.stats.t.ppf(1 - (1 - share) / days, freedom)) * statistics.stdev(logarithms)
    return math.exp(statistics.fmean(logarithms) + reach * math.sqrt(1 + 1 / len(peaks)))
