"""What a larger redo log gains, from loads that differ in its size: pure functions."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

from redolab.crashes.loads import Load, settings_in_words
from redolab.models.intervals import SHARE, Estimate, Ratio, ratios, spread_within
from redolab.models.plateau import Plateau, plateau


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """What the loads of one series share: they differ in the log's size alone. Sizes in bytes."""

    machine: str
    server: str
    version: str
    storage: str
    settings: str
    workload: str
    connections: int
    tables: int
    pool: int


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
    """The cells of one series, smallest log first, and what follows from them."""

    key: SeriesKey
    cells: Sequence[LoadCell]
    gains: Mapping[int, Ratio]
    """Log size → its throughput against that of the smallest log; without an interval where no load was repeated."""
    plateau: Plateau


def load_series(loads: Sequence[Load]) -> list[LoadSeries]:
    """The series of these loads, in the order of measuring their first."""
    found: dict[SeriesKey, dict[int, list[Load]]] = defaultdict(lambda: defaultdict(list))
    for load in loads:
        found[_key(load)][load.image.spec.instance.log_size].append(load)
    series = []
    for key, by_size in found.items():
        measured = [(load.block, size, load.figures.rate.mean) for size, own in by_size.items() for load in own]
        # Of a load in which nothing succeeded there is no logarithm.
        deviation, freedom = spread_within([each for each in measured if each[2] > 0])
        cells = [
            LoadCell(size, own, _pooled([load.figures.rate for load in own], deviation, freedom))
            for size, own in sorted(by_size.items())
        ]
        gains = ratios([each for each in measured if each[2] > 0], cells[0].log_size)
        reached = plateau(_levels(cells, gains, deviation, freedom))
        series.append(LoadSeries(key, cells, gains, reached))
    return series


def _key(load: Load) -> SeriesKey:
    spec = load.image.spec
    return SeriesKey(
        load.machine,
        spec.dataset.server,
        spec.dataset.version,
        spec.storage,
        settings_in_words(spec),
        spec.workload,
        spec.threads,
        spec.dataset.size,
        spec.instance.buffer_pool,
    )


def _pooled(rates: Sequence[Estimate], deviation: float, freedom: int) -> Estimate:
    """The mean of a cell's loads: its interval is that of what loads made alike differ by, in all cells of the series.

    Where none was made alike it is the interval within the one load.
    """
    mean = statistics.fmean(rate.mean for rate in rates)
    if not freedom:
        within = math.hypot(*((rate.high - rate.low) / 2 for rate in rates)) / len(rates)
        return Estimate(mean, mean - within, mean + within)
    return _with_interval(mean, len(rates), deviation, freedom)


def _levels(
    cells: Sequence[LoadCell], gains: Mapping[int, Ratio], deviation: float, freedom: int
) -> dict[int, Estimate]:
    """Log size → throughput, that of the smallest log being 1, blocks aside; a size that shares no block with it is left out.

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
