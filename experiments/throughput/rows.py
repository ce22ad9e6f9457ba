"""Rows of a throughput run, one for each configuration: server, storage, log size and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from redolab.models.intervals import Estimate, Ratio, median_of_known
from redolab.models.plateau import Plateau
from redolab.results.gains import Conditions, LoadCell, load_series
from redolab.results.load_figures import LoadFigures
from redolab.results.loads import Load, MeasuredLoads, WorstCase
from redolab.results.recoveries import median_back


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputRow:
    """One configuration: `n` loads and the crash at the end of each. Sizes in bytes, times in seconds.

    `figures` are those of the load with the median throughput; the fields on recovery are medians.
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
    unsteady: int
    """Number of loads that did not become steady, although they were to."""
    rate: Estimate
    """Throughput: NOTPM of TPC-C, commits a second of other workloads."""
    is_notpm: bool
    figures: LoadFigures
    load_seconds: float
    redo_at_crash: int | None
    ready: float | None
    """Seconds to ready after the crash at the end of the load."""
    first_commit: float | None
    back: float | None
    not_back: int
    recoveries: int
    filled_redo: int | None
    filled_ready: float | None
    """Seconds to ready after the crash of a log filled up with flushing throttled."""
    filled_back: float | None
    filled_short: bool
    """True if the age of the filled log stopped growing before its target."""
    late_share: float | None
    buffered: bool

    @property
    def decided_by(self) -> None:
        """Figures of the storage that decided the row; None: any may have."""
        return


@dataclass(frozen=True, slots=True)
class ThroughputSeries:
    """Rows of one server on one storage with one set of settings, smallest log first, and their comparison."""

    made: Conditions
    rows: Sequence[ThroughputRow]
    gains: Mapping[int, Ratio]
    """Log size → throughput relative to the smallest log; without an interval if no load was repeated."""
    apart: Sequence[int]
    """Log sizes without a gain: they were measured in other seconds of their loads than the smallest."""
    furthest: float
    """Largest relative difference in throughput between any size and the smallest log."""
    repeated: bool
    """True if comparable loads were repeated, so that their spread is known."""
    plateau: Plateau | None
    """Plateau of throughput; None if a size is `apart`."""
    uneven: bool
    """True if some blocks lack some sizes."""
    loads: Sequence[Load]
    """One load for each log size."""


def series_of(found: MeasuredLoads) -> list[ThroughputSeries]:
    """Return the series, each with the gain of a larger log."""
    return [
        ThroughputSeries(
            made=each.made,
            rows=[_row(each.made, cell, found.worst) for cell in each.cells],
            gains=each.gains,
            apart=each.apart,
            furthest=each.furthest,
            repeated=each.repeated,
            plateau=each.plateau,
            uneven=each.uneven,
            loads=[cell.typical for cell in each.cells],
        )
        for each in load_series(found.loads)
    ]


def _row(made: Conditions, cell: LoadCell, worst: Sequence[WorstCase]) -> ThroughputRow:
    loads, typical = cell.loads, cell.typical
    spec = typical.image.spec
    recoveries = [each for load in loads for each in load.recoveries]
    # The filled log has only production's settings, and says nothing of a server with more.
    plain = not spec.instance.overrides
    beside = _filled_furthest([each for each in worst if plain and _made_beside(typical, each)])
    of_worst = [
        recovery
        for each in beside
        for recovery in each.recoveries
        if (recovery.trial.storage, recovery.trial.buffer_pool) == (made.storage, made.pool)
    ]
    warm = [each.warm for each in recoveries if each.warm is not None]
    trials = [each.trial for each in (*recoveries, *of_worst)]
    late = [*(load.image.late_share for load in loads), *(each.late_share for each in trials)]
    return ThroughputRow(
        machine=made.machine,
        server=made.server,
        version=spec.dataset.version,
        storage=made.storage,
        settings=made.settings,
        log_size=cell.log_size,
        pool=made.pool,
        dataset=made.tables,
        connections=made.connections,
        n=len(loads),
        unsteady=sum(load.image.steady is False for load in loads),
        rate=cell.rate,
        is_notpm=typical.figures.new_orders is not None,
        figures=typical.figures,
        load_seconds=typical.image.fill_seconds,
        redo_at_crash=_whole(median_of_known([load.image.last_sample.checkpoint_age for load in loads])),
        ready=median_of_known([each.trial.ready_s for each in recoveries]),
        first_commit=median_of_known([each.first_commit for each in warm]),
        back=median_back(warm),
        not_back=sum(each.back is None for each in warm),
        recoveries=len(recoveries),
        filled_redo=_whole(median_of_known([each.image.last_sample.checkpoint_age for each in beside])),
        filled_ready=median_of_known([each.trial.ready_s for each in of_worst]),
        filled_back=median_back([each.warm for each in of_worst if each.warm is not None]),
        filled_short=bool(of_worst) and any(each.image.stopped_short for each in beside),
        late_share=max((share for share in late if share is not None), default=None),
        buffered=any(each.buffered for each in trials),
    )


def _filled_furthest(crashes: Sequence[WorstCase]) -> Sequence[WorstCase]:
    """Return the crashes filled to the highest age, or all if there are none: recovery differs with less redo."""
    return [each for each in crashes if each.image.spec.kill.highest_age] or crashes


_OF_THE_KILL = (
    *("storage", "spec.storage", "spec.kill", "spec.think_time", "spec.pool_dump", "spec.instance.purpose"),
    *("spec.instance.overrides", "spec.instance.without"),
)
"""Parts of the comparison key in which a load and the filled log beside it differ: filling, kill and storage."""


def _made_beside(load: Load, filled: WorstCase) -> bool:
    """Return True if a log was filled like that of the load, except for flushing and the storages of its recoveries."""
    return load.machine == filled.machine and load.key.but(*_OF_THE_KILL) == filled.key.but(*_OF_THE_KILL)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def row_dictionaries(series: Sequence[ThroughputSeries]) -> list[dict[str, object]]:
    """Return the rows as dictionaries for CSV and Parquet, each with its gain over the smallest log."""
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
