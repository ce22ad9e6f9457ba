"""Intervals: of the mean of an autocorrelated series, and of ratios between treatments in blocks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import scipy

T = TypeVar("T")

SHARE = 0.95
"""Share of such intervals that contain the true value."""
_BATCHES = 12
_FEWEST_BATCHES = 3
_SHORTEST_BATCH = 2


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % interval; the interval is NaN if the data do not determine it."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RelativeChange:
    """Relative difference of a treatment from the baseline: 0.18 is 18 % more.

    The interval is 95 %, and NaN if the data do not determine it.
    """

    change: float
    low: float
    high: float
    blocks: int
    """Number of blocks in which it was measured together with another treatment."""

    @property
    def excludes_zero(self) -> bool:
        """True if the interval excludes zero."""
        return self.low > 0 or self.high < 0

    def in_words(self) -> str:
        """Return it as `+18 % (+12 to +25)`, or as `no measurable effect (±3 %)` with the largest effect possible."""
        if math.isnan(self.low) or self.excludes_zero:
            return self.with_interval()
        return f"no measurable effect (±{100 * max(-self.low, self.high):.0f} %)"

    def with_interval(self, places: int = 0) -> str:
        """Return it as `+4 % (-1 to +9)`, or without the interval if it is unknown."""
        change, low, high = (f"{100 * each:+.{places}f}" for each in (self.change, self.low, self.high))
        return f"{change} %" if math.isnan(self.low) else f"{change} % ({low} to {high})"


def median_of_known(values: Sequence[float | None]) -> float | None:
    """Return the median of the known values; None if none is known."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def batch_means(values: Sequence[float]) -> Estimate:
    """Return the mean of a series, one value a second, with its interval by non-overlapping batch means.

    Neighbouring seconds are correlated, long batches hardly (Law, Simulation Modeling and Analysis, section 9.5.3).
    Student's t over the batches; a short series has fewer of them, and a very short one has no interval.
    """
    mean = statistics.fmean(values)
    batches = min(_BATCHES, len(values) // _SHORTEST_BATCH)
    if batches < _FEWEST_BATCHES:
        return Estimate(mean, math.nan, math.nan)
    length = len(values) // batches
    # Values that do not fill a batch are left out at the beginning, the least settled part.
    kept = values[len(values) - length * batches :]
    means = [statistics.fmean(kept[place * length : (place + 1) * length]) for place in range(batches)]
    reach = float(scipy.stats.t.ppf(0.5 + SHARE / 2, batches - 1)) * statistics.stdev(means) / math.sqrt(batches)
    return Estimate(mean, mean - reach, mean + reach)


def relative_changes(
    measured: Sequence[tuple[str, T, float]], baseline: T, spread: tuple[float, int] | None = None
) -> Mapping[T, RelativeChange]:
    """Return each treatment's relative change from the baseline (0.18 is +18 %) with its 95 % interval.

    `measured`: (block, treatment, value above 0); the baseline itself is left out.

    A treatment that no chain of blocks connects with the baseline is left out. The model is a randomised block design:
    the logarithm of a value is the sum of an effect of its block and one of its treatment. A block may lack some
    treatments or have one repeatedly. The residuals give the standard deviation of a single measurement, equal for all.
    `spread`: that deviation and its degrees of freedom, if more measurements than these determine it (`spread_within`).
    The interval uses Student's t.
    """
    model = _Additive(measured, baseline)
    deviation, freedom = spread or (model.deviation, model.freedom)
    quantile = float(scipy.stats.t.ppf(0.5 + SHARE / 2, freedom)) if freedom else math.nan
    found: dict[T, RelativeChange] = {}
    for treatment in _comparable(measured, model, baseline):
        change = model.effect(treatment)
        reach = quantile * deviation * model.standard_error(treatment)
        blocks = {block for block, each, _ in measured if each == treatment}
        compared = {block for block, each, _ in measured if block in blocks and each != treatment}
        found[treatment] = RelativeChange(
            math.expm1(change), math.expm1(change - reach), math.expm1(change + reach), len(compared)
        )
    return found


def p_values(measured: Sequence[tuple[str, T, float]], baseline: T) -> Mapping[T, float]:
    """Return treatment → two-sided p-value of its difference from the baseline.

    By the same design as `relative_changes`; NaN if nothing was measured twice.
    """
    model = _Additive(measured, baseline)
    return {treatment: model.p_value(treatment) for treatment in _comparable(measured, model, baseline)}


def holm(found: Sequence[float]) -> list[bool]:
    """Return True for each effect that is significant after correcting for all of them, from their p-values.

    By Holm's procedure (Scandinavian Journal of Statistics 6, 1979), which allows any dependence: in 95 of 100 such
    families every effect it accepts is real. NaN is not significant, and not counted.
    """
    known = sorted((p_value, place) for place, p_value in enumerate(found) if not math.isnan(p_value))
    significant = [False] * len(found)
    for passed, (p_value, place) in enumerate(known):
        if p_value > (1 - SHARE) / (len(known) - passed):
            break
        significant[place] = True
    return significant


def _comparable(measured: Sequence[tuple[str, T, float]], model: _Additive[T], baseline: T) -> list[T]:
    """Return the treatments that a chain of blocks connects with the baseline."""
    groups = connected([(block, treatment) for block, treatment, _ in measured])
    group = next((group for group in groups if baseline in group), set[T]())
    return [treatment for treatment in model.treatments if treatment in group]


def connected(measured: Sequence[tuple[str, T]]) -> list[set[T]]:
    """Return groups of connected treatments, from (block, treatment): two that share a block are in one group."""
    groups: list[set[T]] = []
    for block in dict.fromkeys(block for block, _ in measured):
        own = {treatment for each, treatment in measured if each == block}
        apart = [group for group in groups if not group & own]
        groups = [*apart, own.union(*(group for group in groups if group & own))]
    return groups


def spread_within(measured: Sequence[tuple[str, T, float]]) -> tuple[float, int]:
    """Return the standard deviation of the logarithm of a single measurement, and its degrees of freedom.

    Differences between blocks and treatments are removed. NaN and 0 if nothing was measured twice.
    """
    if not measured:
        return math.nan, 0
    model = _Additive(measured, measured[0][1])
    return model.deviation, model.freedom


class _Additive(Generic[T]):
    """Least-squares fit of block + treatment to logarithms."""

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

    def effect(self, treatment: T) -> float:
        """Return a treatment's effect on the logarithm."""
        return float(self._found[self._column(treatment)])

    def standard_error(self, treatment: T) -> float:
        """Return the standard error of an effect, as a multiple of the deviation of a single measurement."""
        column = self._column(treatment)
        return math.sqrt(max(0.0, float(self._spread[column, column])))

    def p_value(self, treatment: T) -> float:
        """Return the two-sided p-value of a treatment's effect; NaN if nothing was measured twice."""
        error = self.deviation * self.standard_error(treatment)
        if math.isnan(error):
            return math.nan
        return 2 * float(scipy.stats.t.sf(abs(self.effect(treatment)) / error, self.freedom)) if error else 0.0

    def _column(self, treatment: T) -> int:
        return self._blocks + self.treatments.index(treatment)
