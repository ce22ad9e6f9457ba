"""What was measured, a row a cell: one server, storage, log size and settings."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from scipy import stats

from redolab.crashes.load_figures import LoadFigures
from redolab.models.intervals import SHARE, Estimate, Ratio, ratios
from redolab.models.plateau import Plateau, plateau

from .loads import Found, Load, WorstCase

SeriesKey: TypeAlias = tuple[str, str, str, str]
"""Machine, server, storage, settings: the cells of one series differ in the log's size alone."""
_PAIR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputRow:
    """One cell: `n` loads and the crash at the end of each. Sizes in bytes, times in seconds.

    `figures`, and what is said of recovery, are those of the load whose throughput is the median one.
    """

    machine: str
    server: str
    version: str
    storage: str
    settings: str
    log_size: int
    pool: int
    dataset: int
    connections: int
    n: int
    steady: int
    """Of these, the loads that had become steady."""
    rate: Estimate
    """NOTPM where the workload is TPC-C, else commits a second."""
    is_notpm: bool
    figures: LoadFigures
    load_seconds: float
    redo_at_crash: int | None
    ready: float | None
    """From the crash at the end of the load."""
    first_commit: float | None
    back: float | None
    not_back: int
    recoveries: int
    worst_redo: int | None
    worst_ready: float | None
    """From the crash with flushing held back."""
    worst_back: float | None
    late_share: float | None


@dataclass(frozen=True, slots=True)
class Series:
    """The rows of one server on one storage with one kind of settings, smallest log first, and what follows from them."""

    key: SeriesKey
    rows: Sequence[ThroughputRow]
    gains: dict[int, Ratio]
    """Log size → its throughput against that of the smallest log."""
    plateau: Plateau


def rows_of(found: Found) -> list[ThroughputRow]:
    """A row a cell, in the order of measuring the first of its series, smallest log first."""
    cells: dict[tuple[SeriesKey, int], list[Load]] = defaultdict(list)
    for load in found.loads:
        cells[_key(load), load.image.spec.instance.log_size].append(load)
    order = list(dict.fromkeys(key for key, _ in cells))
    rows = {where: _row(where[0], loads, found.worst) for where, loads in cells.items()}
    return [rows[where] for where in sorted(rows, key=lambda where: (order.index(where[0]), where[1]))]


def series_of(found: Found) -> list[Series]:
    """The series, each with what a larger log gains."""
    rows: dict[SeriesKey, list[ThroughputRow]] = defaultdict(list)
    for row in rows_of(found):
        rows[row.machine, row.server, row.storage, row.settings].append(row)
    series = []
    for key, of_it in rows.items():
        loads = [load for load in found.loads if _key(load) == key]
        reached = plateau({row.log_size: row.rate for row in of_it})
        series.append(Series(key, of_it, gains(loads, of_it), reached))
    return series


def gains(loads: Sequence[Load], rows: Sequence[ThroughputRow]) -> dict[int, Ratio]:
    """Log size → throughput against the smallest log of the same block; within one block by the spread of the loads' parts."""
    smallest = rows[0].log_size
    measured = [(load.block, load.image.spec.instance.log_size, load.figures.rate.mean) for load in loads]
    told = dict(ratios(measured, smallest))
    by_size = {row.log_size: row.rate for row in rows}
    for size, ratio in told.items():
        if math.isnan(ratio.low):
            reach = math.hypot(*(_relative(by_size[each]) for each in (smallest, size)))
            change = math.log1p(ratio.change)
            told[size] = Ratio(ratio.change, math.expm1(change - reach), math.expm1(change + reach), ratio.blocks)
    return told


def _key(load: Load) -> SeriesKey:
    spec = load.image.spec
    settings = "+".join(
        setting.name if setting.value is None else f"{setting.name}={setting.value}"
        for setting in spec.instance.overrides
    )
    return load.machine, spec.dataset.server, spec.storage, settings


def _row(key: SeriesKey, loads: Sequence[Load], worst: Sequence[WorstCase]) -> ThroughputRow:
    machine, server, storage, settings = key
    by_rate = sorted(loads, key=lambda load: load.figures.rate.mean)
    typical = by_rate[len(by_rate) // 2]
    spec = typical.image.spec
    recoveries = [trial for load in loads for trial in load.recoveries]
    beside = [
        each
        for each in worst
        if each.machine == machine
        and each.image.spec.dataset.server == server
        and each.image.spec.instance.log_size == spec.instance.log_size
    ]
    of_worst = [trial for each in beside for trial in each.recoveries if trial.storage == storage]
    warm = [trial.warm for trial in recoveries if trial.warm is not None]
    return ThroughputRow(
        machine=machine,
        server=server,
        version=spec.dataset.version,
        storage=storage,
        settings=settings,
        log_size=spec.instance.log_size,
        pool=spec.instance.buffer_pool,
        dataset=spec.dataset.size,
        connections=spec.threads,
        n=len(loads),
        steady=sum(bool(load.image.steady) for load in loads),
        rate=_pooled([load.figures.rate for load in loads]),
        is_notpm=typical.figures.new_orders is not None,
        figures=typical.figures,
        load_seconds=typical.image.fill_seconds,
        redo_at_crash=typical.image.last_sample.checkpoint_age,
        ready=_median([trial.seconds_to_ready for trial in recoveries]),
        first_commit=_median([each.first_commit for each in warm]),
        back=_median([each.back for each in warm]),
        not_back=sum(each.back is None for each in warm),
        recoveries=len(recoveries),
        worst_redo=_whole(_median([each.image.last_sample.checkpoint_age for each in beside])),
        worst_ready=_median([trial.seconds_to_ready for trial in of_worst]),
        worst_back=_median([trial.warm.back for trial in of_worst if trial.warm is not None]),
        late_share=max((load.image.late_share for load in loads if load.image.late_share is not None), default=None),
    )


def _pooled(rates: Sequence[Estimate]) -> Estimate:
    """Of one load its own interval; of several by what they differ by: of two no less than the half of that."""
    mean = statistics.fmean(rate.mean for rate in rates)
    within = math.hypot(*((rate.high - rate.low) / 2 for rate in rates)) / len(rates)
    if len(rates) == 1:
        return rates[0]
    means = [rate.mean for rate in rates]
    if len(rates) == _PAIR:
        between = (max(means) - min(means)) / 2
    else:
        quantile = float(stats.t.ppf(0.5 + SHARE / 2, len(means) - 1))
        between = quantile * statistics.stdev(means) / math.sqrt(len(means))
    reach = max(between, 0.0 if math.isnan(within) else within)
    return Estimate(mean, mean - reach, mean + reach)


def _relative(rate: Estimate) -> float:
    """Half of an interval as a share of its mean; NaN where there is none."""
    return (rate.high - rate.low) / 2 / rate.mean if rate.mean else math.nan


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def row_dictionaries(series: Sequence[Series]) -> list[dict[str, object]]:
    """The rows as CSV and Parquet take them, each with its gain over the smallest log."""
    found = []
    for each in series:
        for row in each.rows:
            flat = asdict(row)
            figures, rate = flat.pop("figures"), flat.pop("rate")
            for name in ("commits", "new_orders"):
                estimate = figures.pop(name)
                for part in ("mean", "low", "high"):
                    figures[f"{name}_{part}"] = None if estimate is None else estimate[part]
            gain = each.gains.get(row.log_size)
            found.append(
                {
                    **flat,
                    **{f"rate_{part}": value for part, value in rate.items()},
                    **figures,
                    "gain": 0.0 if gain is None and row is each.rows[0] else None if gain is None else gain.change,
                    "gain_low": None if gain is None else gain.low,
                    "gain_high": None if gain is None else gain.high,
                }
            )
    return found
