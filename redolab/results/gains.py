"""Throughput gained by a larger redo log, from loads that differ in its size: pure functions."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import scipy

from redolab.crash.records.crash import CrashSpec
from redolab.grouping import by_key
from redolab.report.intervals import SHARE, Estimate, RelativeChange, connected, relative_changes, spread_within
from redolab.results.comparison_key import Field
from redolab.results.loads import Load
from redolab.results.plateau import Plateau, plateau

_EQUAL = 0.75
"""Share of the measured seconds that two loads must have in common: throughput changes in the course of a load."""


@dataclass(frozen=True, slots=True)
class LoadCell:
    """Loads with one log size."""

    log_size: int
    loads: Sequence[Load]
    rate: Estimate

    @property
    def typical(self) -> Load:
        """Load with the median throughput, or the upper of two."""
        return sorted(self.loads, key=lambda load: load.figures.rate.mean)[len(self.loads) // 2]


@dataclass(frozen=True, slots=True)
class LoadSeries:
    """Configurations of one series, smallest log first, and their comparison.

    Blocks connect all of them, directly or by way of others.
    """

    cells: Sequence[LoadCell]
    gains: Mapping[int, RelativeChange]
    """Log size → throughput relative to the smallest log; without an interval if no load was repeated.

    Sizes in `apart` are missing.
    """
    beside_largest: Mapping[int, RelativeChange]
    """Log size → throughput relative to the largest log, as in `gains`."""
    apart: Sequence[int]
    """Log sizes without a load that was measured in the same seconds of its load as one with the smallest log."""
    furthest: float
    """Largest relative difference in throughput between any size, `apart` or not, and the smallest log."""
    repeated: bool
    """True if comparable loads were repeated, so that their spread is known."""
    plateau: Plateau | None
    """Plateau of throughput; None if a size is `apart`."""
    uneven: bool
    """True if blocks lack some sizes: throughput is then what the blocks of the smallest log would have had."""

    @property
    def machine(self) -> str:
        """Name of the machine in tables."""
        return self.cells[0].loads[0].machine

    @property
    def spec(self) -> CrashSpec:
        """Spec of a load with the smallest log. The other loads differ from it in log size and number alone."""
        return self.cells[0].loads[0].image.spec


def load_series(loads: Sequence[Load]) -> list[LoadSeries]:
    """Return the series of these loads, in the order of their first measurement.

    Loads that no block connects with the others of their kind are a series of their own.
    """
    # Machines of one class with names of their own, as workers of a cluster, are separate in tables.
    by_machine = by_key(loads, lambda load: (load.machine, load.key.ignoring(Field.LOG_SIZE)))
    return [
        _series([load for load in of_kind if load.image.spec.instance.log_size in sizes])
        for of_kind in by_machine.values()
        for sizes in connected([(load.block, load.image.spec.instance.log_size) for load in of_kind])
    ]


def _series(loads: Sequence[Load]) -> LoadSeries:
    by_size = dict(sorted(by_key(loads, lambda load: load.image.spec.instance.log_size).items()))
    # A load in which nothing succeeded has no logarithm.
    succeeded = [(load, size) for size, own in by_size.items() for load in own if load.figures.rate.mean > 0]
    measured = [(load.block, size, load.figures.rate.mean) for load, size in succeeded]
    smallest = min(by_size)
    deviation, freedom = spread_within(measured)
    beside = relative_changes(measured, smallest)
    equal = blocks_of_equal_seconds([load for load, _ in succeeded])
    in_equal_seconds = [(block, size, rate) for block, (_, size, rate) in zip(equal, measured, strict=True)]
    gains, beside_largest = (
        relative_changes(in_equal_seconds, base, (deviation, freedom)) for base in (smallest, max(by_size))
    )
    apart = [size for size in beside if size not in gains]
    blocks = [Counter(load.block for load in own) for own in by_size.values()]
    uneven = any(each != blocks[0] for each in blocks)
    rates = {size: _pooled([load.figures.rate for load in own], deviation, freedom) for size, own in by_size.items()}
    if uneven:
        rates |= {size: _as_beside(rates[smallest], ratio) for size, ratio in beside.items()}
    cells = [LoadCell(size, own, rates[size]) for size, own in by_size.items()]
    return LoadSeries(
        cells=cells,
        gains=gains,
        beside_largest=beside_largest,
        apart=apart,
        furthest=max((abs(ratio.change) for ratio in beside.values()), default=0.0),
        repeated=freedom > 0,
        plateau=None if apart else plateau(_levels(cells, gains, deviation, freedom)),
        uneven=uneven,
    )


def blocks_of_equal_seconds(loads: Sequence[Load]) -> list[str]:
    """Return for each load the block in which its throughput compares: loads of a block measured in equal seconds.

    Throughput changes in the course of a load, whatever the log, and a load that ends later is measured later.
    """
    stretches: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for load in loads:
        known = stretches[load.block]
        if not any(_are_equal(load.measured, each) for each in known):
            known.append(load.measured)
    return [
        f"{load.block} {next(at for at, each in enumerate(stretches[load.block]) if _are_equal(load.measured, each))}"
        for load in loads
    ]


def _are_equal(one: tuple[float, float], other: tuple[float, float]) -> bool:
    common = min(one[1], other[1]) - max(one[0], other[0])
    return common >= _EQUAL * max(one[1] - one[0], other[1] - other[0])


def _pooled(rates: Sequence[Estimate], deviation: float, freedom: int) -> Estimate:
    """Return the mean of a configuration's loads, with the spread of comparable loads in all configurations.

    A single load without comparable ones keeps its own interval. Several that are the only ones, each in a block of its
    own, use the spread between them, blocks included.
    """
    mean = statistics.fmean(rate.mean for rate in rates)
    if freedom:
        return _with_interval(mean, len(rates), deviation, freedom)
    if len(rates) == 1:
        return rates[0]
    if min(rate.mean for rate in rates) <= 0:
        return Estimate(mean, math.nan, math.nan)
    return _with_interval(mean, len(rates), statistics.stdev(math.log(rate.mean) for rate in rates), len(rates) - 1)


def _as_beside(smallest: Estimate, gain: RelativeChange) -> Estimate:
    """Return a size's throughput as in the blocks of the smallest log, with the interval of their difference."""
    return Estimate(*(smallest.mean * (1 + each) for each in (gain.change, gain.low, gain.high)))


def _levels(
    cells: Sequence[LoadCell], gains: Mapping[int, RelativeChange], deviation: float, freedom: int
) -> dict[int, Estimate]:
    """Return log size → throughput relative to the smallest log, without block effects.

    Sizes at which nothing succeeded are left out. There is no interval if no load was repeated: the spread within one
    load is smaller than that between comparable loads.
    """
    if not gains:
        return {cell.log_size: _with_interval(cell.rate.mean, 1, deviation, 0) for cell in cells}
    changes = {cells[0].log_size: 0.0, **{size: gain.change for size, gain in gains.items()}}
    return {
        cell.log_size: _with_interval(1 + changes[cell.log_size], len(cell.loads), deviation, freedom)
        for cell in cells
        if cell.log_size in changes
    }


def _with_interval(mean: float, loads: int, deviation: float, freedom: int) -> Estimate:
    """Return the mean of `loads` loads, from the standard deviation of the logarithm of one."""
    if not freedom:
        return Estimate(mean, math.nan, math.nan)
    reach = float(scipy.stats.t.ppf(0.5 + SHARE / 2, freedom)) * deviation / math.sqrt(loads)
    return Estimate(mean, mean * math.exp(-reach), mean * math.exp(reach))
