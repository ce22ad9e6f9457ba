"""From which size on a larger redo log gains nothing more: a pure function of what was measured at some sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from redolab.models.intervals import SHARE, Estimate
from redolab.units import format_size

_STEP = 0.05
"""Of a share that is told as an upper bound: less than 5 %, less than 10 %."""
NEGLIGIBLE = 0.03
"""A share of throughput for which nobody would take a longer recovery."""
_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Plateau:
    """The smallest size that has all but a negligible share of the best throughput, and between which sizes it lies; bytes."""

    size: int
    low: int
    high: int

    def in_words(self, smallest: int, largest: int) -> str:
        """As in `a log beyond 1G gains less than 3% more (95 %: 256M to 2G)`; `smallest` and `largest` of those measured."""
        size, low, high = (format_size(each) for each in (self.size, self.low, self.high))
        between = "" if low == high else f" (95 %: {low} to {high})"
        if low != high and (self.low, self.high) == (smallest, largest):
            between = f" (it may be any size from {low} to {high})"
        if self.size == largest:
            return f"no end of that up to {size}{between}"
        return f"a log beyond {size} gains less than {NEGLIGIBLE:.0%} more{between}"


def plateau(throughput: Mapping[int, Estimate]) -> Plateau:
    """From the throughput at each size in bytes.

    The interval is that of a parametric bootstrap: each throughput is drawn anew from the normal distribution that has its
    interval, and the size found among the drawn ones; where one interval is not known it may be any size. Sizes between those
    measured are not thought of: the true one lies between the size before `low` and `high`.
    """
    sizes = sorted(throughput)
    means = np.array([throughput[size].mean for size in sizes])
    half = np.array([(throughput[size].high - throughput[size].low) / 2 for size in sizes])
    if np.isnan(half).any():
        return Plateau(sizes[_first(means)], sizes[0], sizes[-1])
    # Of a normal distribution; Student's t of few loads makes them wider than that, never narrower.
    drawn = np.random.default_rng(0).normal(means, half / 1.96, size=(_DRAWS, len(sizes)))
    places = sorted(_first(each) for each in drawn)
    outside = int((1 - SHARE) / 2 * _DRAWS)
    low, high = places[outside], places[-1 - outside]
    return Plateau(sizes[_first(means)], sizes[low], sizes[high])


def throughput_difference_in_words(furthest: float) -> str:
    """As in `less than 5 % either way`, of what differs by such a share at most."""
    return f"less than {100 * _STEP * (1 + furthest // _STEP):.0f} % either way"


def _first(throughput: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> int:
    """The place of the first that is as good as the best."""
    return int(np.argmax(throughput >= (1 - NEGLIGIBLE) * throughput.max()))
