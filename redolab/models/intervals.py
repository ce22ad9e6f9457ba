"""Intervals: of the mean of a series whose neighbours depend on each other, and of ratios between treatments in blocks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import scipy

T = TypeVar("T")

SHARE = 0.95
"""Of all such intervals that hold the true value."""
_BATCHES = 12
_FEWEST_BATCHES = 3
_SHORTEST_BATCH = 2


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % interval; the interval is NaN where nothing tells how far it reaches."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """By what share a treatment differs from the baseline: 0.18 is 18 % more. The interval is NaN where nothing tells it."""

    change: float
    low: float
    high: float
    blocks: int
    """In how many blocks it was measured beside something else."""

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval leaves out no difference."""
        return self.low > 0 or self.high < 0

    def in_words(self) -> str:
        """As in `+18 % (+12 to +25)`, or `no measurable effect (±3 %)`: how large one could be that is not seen."""
        if math.isnan(self.low) or self.excludes_zero:
            return self.with_interval()
        return f"no measurable effect (±{100 * max(-self.low, self.high):.0f} %)"

    def with_interval(self) -> str:
        """As in `+4 % (-1 to +9)`; without the interval where there is none."""
        between = "" if math.isnan(self.low) else f" ({100 * self.low:+.0f} to {100 * self.high:+.0f})"
        return f"{100 * self.change:+.0f} %{between}"


def median_of_known(values: Sequence[float | None]) -> float | None:
    """The median of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def batch_means(values: Sequence[float], batches: int = _BATCHES) -> Estimate:
    """The mean of a series, one value a second.

    By non-overlapping batch means: neighbouring seconds are alike, long stretches hardly (Law, Simulation Modeling and
    Analysis, section 9.5.3). Student's t over the batches, of which a short series has fewer; a very short one has no interval.
    """
    mean = statistics.fmean(values)
    batches = min(batches, len(values) // _SHORTEST_BATCH)
    if batches < _FEWEST_BATCHES:
        return Estimate(mean, math.nan, math.nan)
    length = len(values) // batches
    # What does not fill a batch is left out at the beginning, the part that is the least settled.
    kept = values[len(values) - length * batches :]
    means = [statistics.fmean(kept[place * length : (place + 1) * length]) for place in range(batches)]
    reach = float(scipy.stats.t.ppf(0.5 + SHARE / 2, batches - 1)) * statistics.stdev(means) / math.sqrt(batches)
    return Estimate(mean, mean - reach, mean + reach)


def ratios(
    measured: Sequence[tuple[str, T, float]], baseline: T, spread: tuple[float, int] | None = None
) -> Mapping[T, Ratio]:
    """Treatment → how far it is from the baseline, from (block, treatment, value above 0); the baseline is not among them.

    A treatment that no block compares with it, not even by way of others, is left out. Logarithms of the values are sums of
    what the block and the treatment add (a randomised block design, in which a block may lack some treatments or have one more
    than once): what is left over is the spread of a single measurement, the same for all, unless more measurements than
    these tell `spread`, as `spread_within` does. Student's t.
    """
    model = _Additive(measured, baseline)
    told: dict[T, Ratio] = {}
    for treatment in _comparable(measured, model, baseline):
        change, reach = model.effect(treatment, *(spread or (model.deviation, model.freedom)))
        blocks = {block for block, each, _ in measured if each == treatment}
        compared = {block for block, each, _ in measured if block in blocks and each != treatment}
        told[treatment] = Ratio(
            math.expm1(change), math.expm1(change - reach), math.expm1(change + reach), len(compared)
        )
    return told


def chances(measured: Sequence[tuple[str, T, float]], baseline: T) -> Mapping[T, float]:
    """Treatment → the chance to find a difference from the baseline at least as large where there is none (two-sided).

    By the same design as `ratios`; NaN where nothing was measured twice.
    """
    model = _Additive(measured, baseline)
    return {treatment: model.chance(treatment) for treatment in _comparable(measured, model, baseline)}


def stand_together(found: Sequence[float]) -> list[bool]:
    """Which effects stand beside all that were looked for, from the chance of each: in 95 of 100 such families all that do are real.

    By Holm's procedure (Scandinavian Journal of Statistics 6, 1979), whatever they depend on. NaN is no effect, and not counted.
    """
    known = sorted((chance, place) for place, chance in enumerate(found) if not math.isnan(chance))
    stand = [False] * len(found)
    for passed, (chance, place) in enumerate(known):
        if chance > (1 - SHARE) / (len(known) - passed):
            break
        stand[place] = True
    return stand


def _comparable(measured: Sequence[tuple[str, T, float]], model: _Additive[T], baseline: T) -> list[T]:
    """The treatments that blocks compare with the baseline, be it by way of others."""
    groups = connected([(block, treatment) for block, treatment, _ in measured])
    group = next((group for group in groups if baseline in group), set[T]())
    return [treatment for treatment in model.treatments if treatment in group]


def connected(measured: Sequence[tuple[str, T]]) -> list[set[T]]:
    """The treatments in groups, from (block, treatment): those of a group share a block, or each does with another of it."""
    groups: list[set[T]] = []
    for block in dict.fromkeys(block for block, _ in measured):
        own = {treatment for each, treatment in measured if each == block}
        apart = [group for group in groups if not group & own]
        groups = [*apart, own.union(*(group for group in groups if group & own))]
    return groups


def spread_within(measured: Sequence[tuple[str, T, float]]) -> tuple[float, int]:
    """The standard deviation of the logarithm of a single measurement, blocks and treatments aside, and its degrees of freedom.

    NaN and 0 where nothing was measured twice.
    """
    if not measured:
        return math.nan, 0
    model = _Additive(measured, measured[0][1])
    return model.deviation, model.freedom


class _Additive(Generic[T]):
    """The least-squares fit of block + treatment to logarithms."""

    def __init__(self, measured: Sequence[tuple[str, T, float]], baseline: T) -> None:
        blocks = list(dict.fromkeys(block for block, _, _ in measured))
        self.treatments = [each for each in dict.fromkeys(each for _, each, _ in measured) if each != baseline]
        design = np.zeros((len(measured), len(blocks) + len(self.treatments)))
        for row, (block, treatment, _) in enumerate(measured):
            design[row, blocks.index(block)] = 1
            if treatment != baseline:
                design[row, len(blocks) + self.treatments.index(treatment)] = 1
        values = np.log([value for _, _, value in measured])
        self._found, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
        left = values - design @ self._found
        self.freedom = len(measured) - int(rank)
        self.deviation = math.sqrt(float(left @ left) / self.freedom) if self.freedom else math.nan
        self._spread = np.linalg.pinv(design.T @ design)
        self._blocks = len(blocks)

    def effect(self, treatment: T, deviation: float, freedom: int) -> tuple[float, float]:
        """What a treatment adds to the logarithm, and half of the 95 % interval of that, by the spread of a single one."""
        at = self._blocks + self.treatments.index(treatment)
        if not freedom:
            return float(self._found[at]), math.nan
        quantile = float(scipy.stats.t.ppf(0.5 + SHARE / 2, freedom))
        return float(self._found[at]), quantile * deviation * math.sqrt(max(0.0, float(self._spread[at, at])))

    def chance(self, treatment: T) -> float:
        """Of an effect at least as large where there is none, two-sided; NaN without a spread."""
        change, reach = self.effect(treatment, self.deviation, self.freedom)
        if math.isnan(reach):
            return math.nan
        quantile = float(scipy.stats.t.ppf(0.5 + SHARE / 2, self.freedom))
        return 2 * float(scipy.stats.t.sf(quantile * abs(change) / reach, self.freedom)) if reach else 0.0


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a median, whatever the values are distributed like: by the signs, from one value to another of them.

    NaN for fewer than six values, which have none (Conover, Practical Nonparametric Statistics, 3.2).
    """
    # scipy-stubs take it for a float.
    interval: Any = scipy.stats.quantile_test(values, q=0.0, p=0.5).confidence_interval(SHARE)
    return float(interval.low), float(interval.high)
