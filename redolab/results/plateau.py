"""Redo log size beyond which throughput gains nothing more: a pure function of throughput measured at some sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from redolab.report.intervals import SHARE, Estimate
from redolab.units import format_size

_STEP = 0.05
"""Step to which an upper bound of a share is rounded up: less than 5 %, less than 10 %."""
NEGLIGIBLE = 0.03
"""Share of throughput for which nobody would accept a longer recovery."""
_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Plateau:
    """Smallest size whose throughput is within a negligible share of the best, with its 95 % interval; in bytes."""

    size: int
    low: int
    high: int

    def in_words(self, smallest: int, largest: int) -> str:
        """Return it as `a log beyond 1G gains less than 3% more (95 %: 256M to 2G)`.

        `smallest` and `largest` are the ends of the measured sizes, in bytes.
        """
        size, low, high = (format_size(each) for each in (self.size, self.low, self.high))
        between = "" if low == high else f" (95 %: {low} to {high})"
        if low != high and (self.low, self.high) == (smallest, largest):
            between = f" (it may be any size from {low} to {high})"
        if self.size == largest:
            return f"no end of that up to {size}{between}"
        return f"a log beyond {size} gains less than {NEGLIGIBLE:.0%} more{between}"


def plateau(throughput: Mapping[int, Estimate]) -> Plateau:
    """Return the plateau, from the throughput at each size in bytes.

    The interval is by parametric bootstrap: draw each throughput from the normal distribution of its interval, and find
    the plateau among the drawn values. If an interval is unknown, it may be any size. Only measured sizes are
    considered: the true one lies between the size before `low` and `high`.
    """
    sizes = sorted(throughput)
    means = np.array([throughput[size].mean for size in sizes])
    half = np.array([(throughput[size].high - throughput[size].low) / 2 for size in sizes])
    if np.isnan(half).any():
        return Plateau(sizes[_first(means)], sizes[0], sizes[-1])
    # The half-widths are those of a normal distribution; Student's t of few loads makes them wider, never narrower.
    drawn = np.random.default_rng(0).normal(means, half / 1.96, size=(_DRAWS, len(sizes)))
    places = sorted(_first(each) for each in drawn)
    outside = int((1 - SHARE) / 2 * _DRAWS)
    low, high = places[outside], places[-1 - outside]
    return Plateau(sizes[_first(means)], sizes[low], sizes[high])


def throughput_difference_in_words(furthest: float) -> str:
    """Return `less than 5 % either way` for a share of at most `furthest`, rounded up."""
    return f"less than {100 * _STEP * (1 + furthest // _STEP):.0f} % either way"


def _first(throughput: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> int:
    """Return the index of the first size that is nearly as good as the best."""
    return int(np.argmax(throughput >= (1 - NEGLIGIBLE) * throughput.max()))
