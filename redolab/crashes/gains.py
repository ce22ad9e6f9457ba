"""What a larger redo log gains, from loads that differ in its size: pure functions."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

from redolab.crashes.dataset import DatasetSpec
from redolab.crashes.fill import KillRule
from redolab.crashes.loads import Load, settings_in_words
from redolab.models.intervals import SHARE, Estimate, Ratio, connected, ratios, spread_within
from redolab.models.plateau import Plateau, plateau


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """What the loads of one series share: they differ in the log's size alone. Sizes in bytes."""

    machine: str
    dataset: DatasetSpec
    storage: str
    settings: str
    workload: str
    connections: int
    pool: int
    kill: KillRule

    @property
    def server(self) -> str:
        """As the catalogue names it."""
        return self.dataset.server

    @property
    def version(self) -> str:
        """As the server itself says."""
        return self.dataset.version

    @property
    def tables(self) -> int:
        """Bytes of tables that were asked for."""
        return self.dataset.size


@dataclass(frozen=True, slots=True)
class LoadCell:
    """The loads with one size of log."""

    log_size: int
    loads: Sequence[Load]
    rate: Estimate

    @property
    def typical(self) -> Load:
        """The one whose throughput is the median, or the upper of two."""
        return sorted(self.loads, key=lambda load: load.figures.rate.mean)[len(self.loads) // 2]


@dataclass(frozen=True, slots=True)
class LoadSeries:
    """The cells of one series, smallest log first, and what follows from them.

    Its blocks compare all of them, some perhaps by way of others.
    """

    key: SeriesKey
    cells: Sequence[LoadCell]
    gains: Mapping[int, Ratio]
    """Log size → its throughput against that of the smallest log; without an interval where no load was repeated."""
    plateau: Plateau
    uneven: bool
    """Whether some blocks lack some of the sizes: throughput is then what it would have been in those of the smallest log."""


def load_series(loads: Sequence[Load]) -> list[LoadSeries]:
    """The series of these loads, in the order of measuring their first.

    Loads that no block compares with the others of their kind are a series of their own.
    """
    kinds: dict[SeriesKey, list[Load]] = defaultdict(list)
    for load in loads:
        kinds[_key(load)].append(load)
    return [
        _series(key, [load for load in of_kind if load.image.spec.instance.log_size in sizes])
        for key, of_kind in kinds.items()
        for sizes in connected([(load.block, load.image.spec.instance.log_size) for load in of_kind])
    ]


def _series(key: SeriesKey, loads: Sequence[Load]) -> LoadSeries:
    by_size: dict[int, list[Load]] = defaultdict(list)
    for load in sorted(loads, key=lambda load: load.image.spec.instance.log_size):
        by_size[load.image.spec.instance.log_size].append(load)
    # Of a load in which nothing succeeded there is no logarithm.
    measured = [
        (load.block, size, load.figures.rate.mean)
        for size, own in by_size.items()
        for load in own
        if load.figures.rate.mean > 0
    ]
    smallest = min(by_size)
    deviation, freedom = spread_within(measured)
    gains = ratios(measured, smallest)
    blocks = [Counter(load.block for load in own) for own in by_size.values()]
    uneven = any(each != blocks[0] for each in blocks)
    rates = {size: _pooled([load.figures.rate for load in own], deviation, freedom) for size, own in by_size.items()}
    if uneven:
        rates |= {size: _as_beside(rates[smallest], gain) for size, gain in gains.items()}
    cells = [LoadCell(size, own, rates[size]) for size, own in by_size.items()]
    return LoadSeries(key, cells, gains, plateau(_levels(cells, gains, deviation, freedom)), uneven)


def _key(load: Load) -> SeriesKey:
    spec = load.image.spec
    return SeriesKey(
        load.machine,
        spec.dataset,
        spec.storage,
        settings_in_words(spec),
        spec.workload,
        spec.threads,
        spec.instance.buffer_pool,
        spec.kill,
    )


def _pooled(rates: Sequence[Estimate], deviation: float, freedom: int) -> Estimate:
    """The mean of a cell's loads: its interval is that of what loads made alike differ by, in all cells of the series.

    Of one load, where none was made alike, it is the interval within it; of several that are all that there is, each in a
    block of its own, it is by what these differ by, blocks and all.
    """
    mean = statistics.fmean(rate.mean for rate in rates)
    if freedom:
        return _with_interval(mean, len(rates), deviation, freedom)
    if len(rates) == 1:
        return rates[0]
    if min(rate.mean for rate in rates) <= 0:
        return Estimate(mean, math.nan, math.nan)
    return _with_interval(mean, len(rates), statistics.stdev(math.log(rate.mean) for rate in rates), len(rates) - 1)


def _as_beside(smallest: Estimate, gain: Ratio) -> Estimate:
    """What a size would have had in the blocks of the smallest log: with the interval of what it differs from that by."""
    return Estimate(*(smallest.mean * (1 + each) for each in (gain.change, gain.low, gain.high)))


def _levels(
    cells: Sequence[LoadCell], gains: Mapping[int, Ratio], deviation: float, freedom: int
) -> dict[int, Estimate]:
    """Log size → throughput, that of the smallest log being 1, blocks aside; without sizes with which nothing succeeded.

    Without an interval where no load was repeated: one load knows what chance did within it, and the next one made alike
    differs by more than that.
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
    """The mean of so many loads, by the standard deviation of the logarithm of one."""
    if not freedom:
        return Estimate(mean, math.nan, math.nan)
    reach = float(stats.t.ppf(0.5 + SHARE / 2, freedom)) * deviation / math.sqrt(loads)
    return Estimate(mean, mean * math.exp(-reach), mean * math.exp(reach))
