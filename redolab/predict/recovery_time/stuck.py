"""Probability that a recovery in several batches never ends, from recoveries that got stuck and their read threads."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import cache
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import scipy

from redolab.report.intervals import Estimate

K = TypeVar("K", str, int)

FEW_THREADS = 1
THREAD_CLASSES = (FEW_THREADS, 8, 16)
"""Fewest read threads of each class: recoveries of one class are counted together."""
_JEFFREYS = 0.5
"""Both parameters of Jeffreys' prior of a proportion, a Beta distribution."""
_ENOUGH = 10
"""Fewest crashes under one workload; with fewer, the server's other workloads count too."""
_FEWEST = 2
"""Fewest crashes that got stuck with fewer read threads to judge the effect of more: one proves too little."""
_TAIL = 0.025
_GRID = (np.arange(400) + 0.5) / 400
"""Shares at which a distribution is evaluated, to multiply it by another."""


class StuckCount(msgspec.Struct, frozen=True):
    """Recoveries in several batches, the number that got stuck, and the same with each crash counting once.

    Recoveries of one crash mostly get stuck together, and stuck ones were repeated, so they are not independent.
    """

    stuck: int = 0
    recoveries: int = 0
    """Number of recoveries, stuck ones included."""
    crashes: int = 0
    crashes_stuck: float = 0.0
    """Sum over crashes of the share of recoveries that got stuck."""

    def __add__(self, other: StuckCount) -> StuckCount:
        return StuckCount(*map(operator.add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))


class StuckCounts(msgspec.Struct, frozen=True):
    """A server's recoveries in several batches."""

    few_threads: Mapping[str, StuckCount] = {}
    """Workload → recoveries with fewer read threads than the second class."""
    more_threads: Mapping[int, StuckCount] = {}
    """Fewest read threads of a class → recoveries of crashes, and with pools, that got stuck with fewer threads.

    No other recoveries show the effect of more threads.
    """

    def __add__(self, other: StuckCounts) -> StuckCounts:
        return StuckCounts(_sums(self.few_threads, other.few_threads), _sums(self.more_threads, other.more_threads))


class ChanceOfStuck(msgspec.Struct, frozen=True, kw_only=True):
    """Probability that a recovery in several batches never ends, 0 to 1, with its 95 % interval and its data."""

    mean: float
    low: float
    high: float
    few_threads: StuckCount
    workloads: tuple[str, ...]
    """Workloads of the recoveries."""
    at_least: int
    """Fewest read threads of the class used: a lower class than asked for if that was not measured."""
    more_threads: StuckCount | None
    """Recoveries with more threads; None if the probability is for few threads."""


def chance_of_stuck(counts: StuckCounts, workload: str, read_threads: int) -> ChanceOfStuck | None:
    """Return the probability under a workload; None if nothing was measured.

    With more read threads it is the probability with few, times the share that got stuck with more of those that did
    with few. If that was not measured, the next lower class counts: all threads have to wait at once.
    """
    measured = {name: each for name, each in counts.few_threads.items() if each.crashes}
    if workload in measured and measured[workload].crashes >= _ENOUGH:
        measured = {workload: measured[workload]}
    if not measured:
        return None
    known = [least for least, each in counts.more_threads.items() if each.crashes >= _FEWEST and least <= read_threads]
    at_least = max(known, default=FEW_THREADS)
    more = counts.more_threads[at_least] if known else None
    posterior = _posterior(tuple(measured.values()), more)
    return ChanceOfStuck(
        mean=posterior.mean,
        low=posterior.low,
        high=posterior.high,
        few_threads=sum(measured.values(), StuckCount()),
        workloads=tuple(measured),
        at_least=at_least,
        more_threads=more,
    )


def class_of(read_threads: int) -> int:
    """Return the fewest threads of the class."""
    return max(least for least in THREAD_CLASSES if least <= max(FEW_THREADS, read_threads))


@cache
def _posterior(few: tuple[StuckCount, ...], more: StuckCount | None) -> Estimate:
    """Return the posterior under Jeffreys' prior: equal parts of the workloads, times the share with more threads."""
    chances = np.concatenate([_quantiles(each) for each in few])
    if more is not None:
        chances = np.outer(chances, _quantiles(more)).ravel()
    low, high = np.quantile(chances, [_TAIL, 1 - _TAIL])
    mean = float(np.mean([_mean(each) for each in few])) * (1.0 if more is None else _mean(more))
    return Estimate(mean, float(low), float(high))


def _quantiles(count: StuckCount) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = scipy.stats.beta.ppf(_GRID, *_parameters(count))
    return found


def _mean(count: StuckCount) -> float:
    stuck, ended = _parameters(count)
    return stuck / (stuck + ended)


def _parameters(count: StuckCount) -> tuple[float, float]:
    return count.crashes_stuck + _JEFFREYS, count.crashes - count.crashes_stuck + _JEFFREYS


def _sums(some: Mapping[K, StuckCount], others: Mapping[K, StuckCount]) -> dict[K, StuckCount]:
    return {key: some.get(key, StuckCount()) + others.get(key, StuckCount()) for key in {**some, **others}}
