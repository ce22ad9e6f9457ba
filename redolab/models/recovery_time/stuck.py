"""How likely a recovery in several batches never ends, from how many were seen to, and with how many read threads."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import scipy

from redolab.models.intervals import Estimate

K = TypeVar("K", str, int)

FEW_THREADS = 1
THREAD_CLASSES = (FEW_THREADS, 8, 16)
"""The fewest read threads of each class: recoveries of one class are counted together."""
_JEFFREYS = 0.5
"""Both parameters of Jeffreys' prior of a proportion, a Beta distribution."""
_ENOUGH = 10
"""Crashes under one workload: with fewer the other workloads of the server count too."""
_FEWEST = 2
"""Crashes that got stuck with fewer read threads: one alone says too little of more."""
_TAIL = 0.025
_GRID = (np.arange(400) + 0.5) / 400
"""Shares at which a distribution is taken, to multiply it by another."""


class StuckCount(msgspec.Struct, frozen=True):
    """Recoveries in several batches, how many got stuck, and the same with each crash counting once.

    Recoveries of one crash mostly get stuck alike, and those that did were repeated: they are no independent cases.
    """

    stuck: int = 0
    recoveries: int = 0
    """Those that got stuck included."""
    crashes: int = 0
    crashes_stuck: float = 0.0
    """The share of its recoveries that got stuck, added up over crashes."""

    def __add__(self, other: StuckCount) -> StuckCount:
        return StuckCount(
            self.stuck + other.stuck,
            self.recoveries + other.recoveries,
            self.crashes + other.crashes,
            self.crashes_stuck + other.crashes_stuck,
        )


class StuckCounts(msgspec.Struct, frozen=True):
    """A server's recoveries in several batches."""

    few_threads: Mapping[str, StuckCount] = {}
    """Workload → those with fewer read threads than the second class has."""
    more_threads: Mapping[int, StuckCount] = {}
    """Fewest read threads of a class → those after crashes and with pools that got stuck with fewer: no others tell what more do."""

    def __add__(self, other: StuckCounts) -> StuckCounts:
        return StuckCounts(
            _added_up(self.few_threads, other.few_threads), _added_up(self.more_threads, other.more_threads)
        )


class ChanceOfStuck(msgspec.Struct, frozen=True, kw_only=True):
    """The chance that a recovery in several batches never ends, 0 to 1, with its 95 % interval and what it is from."""

    mean: float
    low: float
    high: float
    few_threads: StuckCount
    workloads: tuple[str, ...]
    """Under which they were recovered."""
    at_least: int
    """Read threads of the class that the chance is of: of fewer than were asked for, where these were not measured."""
    more_threads: StuckCount | None
    """None where the chance is of few threads."""


def chance_of_stuck(counts: StuckCounts, workload: str, read_threads: int) -> ChanceOfStuck | None:
    """Return the chance under a workload; None where nothing was measured.

    With more read threads it is the chance with few, times the share of recoveries that got stuck with more where they
    had with few. Where that was not measured, the chance of the next fewer holds: all threads have to wait at once.
    """
    told = {name: each for name, each in counts.few_threads.items() if each.crashes}
    if workload in told and told[workload].crashes >= _ENOUGH:
        told = {workload: told[workload]}
    if not told:
        return None
    known = [least for least, each in counts.more_threads.items() if each.crashes >= _FEWEST and least <= read_threads]
    at_least = max(known, default=FEW_THREADS)
    more = counts.more_threads[at_least] if known else None
    posterior = _posterior(tuple(told.values()), more)
    return ChanceOfStuck(
        mean=posterior.mean,
        low=posterior.low,
        high=posterior.high,
        few_threads=sum(told.values(), StuckCount()),
        workloads=tuple(told),
        at_least=at_least,
        more_threads=more,
    )


def class_of(read_threads: int) -> int:
    """Return the fewest threads of the class."""
    return max(least for least in THREAD_CLASSES if least <= max(FEW_THREADS, read_threads))


@cache
def _posterior(few: tuple[StuckCount, ...], more: StuckCount | None) -> Estimate:
    """By Jeffreys' prior: of several workloads an equal mixture, of more threads times their share."""
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


def _added_up(some: Mapping[K, StuckCount], others: Mapping[K, StuckCount]) -> dict[K, StuckCount]:
    return {key: some.get(key, StuckCount()) + others.get(key, StuckCount()) for key in {**some, **others}}
