"""What was measured, a row a cell: one server, storage, log size and settings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from redolab.crashes.gains import LoadCell, SeriesKey, load_series
from redolab.crashes.load_figures import LoadFigures
from redolab.crashes.loads import Found, Load, WorstCase
from redolab.crashes.recovery import RecoveryTrial
from redolab.models.intervals import Estimate, Ratio, median_of_known
from redolab.models.plateau import Plateau


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputRow:
    """One cell: `n` loads and the crash at the end of each. Sizes in bytes, times in seconds.

    `figures` are those of the load whose throughput is the median one; what is said of recovery are medians.
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
    filled_redo: int | None
    filled_ready: float | None
    """From the crash of a log filled up with flushing held back."""
    filled_back: float | None
    filled_short: bool
    """Whether that log's age stopped growing before the server had to force flushing."""
    late_share: float | None
    buffered: bool


@dataclass(frozen=True, slots=True)
class Series:
    """The rows of one server on one storage with one kind of settings, smallest log first, and what follows from them."""

    key: SeriesKey
    rows: Sequence[ThroughputRow]
    gains: Mapping[int, Ratio]
    """Log size → its throughput against that of the smallest log; without an interval where no load was repeated."""
    plateau: Plateau
    uneven: bool
    """Whether some blocks lack some of the sizes."""
    loads: Sequence[Load]
    """A load of each log size."""

    @property
    def repeated(self) -> bool:
        """Whether it is known how far loads made alike differ."""
        return any(not math.isnan(gain.low) for gain in self.gains.values())


def series_of(found: Found) -> list[Series]:
    """The series, each with what a larger log gains."""
    return [
        Series(
            key=each.key,
            rows=[_row(each.key, cell, found.worst) for cell in each.cells],
            gains=each.gains,
            plateau=each.plateau,
            uneven=each.uneven,
            loads=[cell.typical for cell in each.cells],
        )
        for each in load_series(found.loads)
    ]


def _row(key: SeriesKey, cell: LoadCell, worst: Sequence[WorstCase]) -> ThroughputRow:
    loads, typical = cell.loads, cell.typical
    spec = typical.image.spec
    recoveries = [trial for load in loads for trial in load.recoveries]
    # It was made without more settings, and says nothing of a server that has them.
    plain = not spec.instance.overrides
    beside = [each for each in worst if plain and _shared(each) == _shared(typical)]
    of_worst = [
        trial
        for each in beside
        for trial in each.recoveries
        if (trial.storage, trial.buffer_pool) == (key.storage, key.pool)
    ]
    warm = [trial.warm for trial in recoveries if trial.warm is not None]
    on_storage: list[Load | RecoveryTrial] = [*loads, *of_worst]
    return ThroughputRow(
        machine=key.machine,
        server=key.server,
        version=spec.dataset.version,
        storage=key.storage,
        settings=key.settings,
        log_size=cell.log_size,
        pool=key.pool,
        dataset=key.tables,
        connections=key.connections,
        n=len(loads),
        steady=sum(bool(load.image.steady) for load in loads),
        rate=cell.rate,
        is_notpm=typical.figures.new_orders is not None,
        figures=typical.figures,
        load_seconds=typical.image.fill_seconds,
        redo_at_crash=_whole(median_of_known([load.image.last_sample.checkpoint_age for load in loads])),
        ready=median_of_known([trial.seconds_to_ready for trial in recoveries]),
        first_commit=median_of_known([each.first_commit for each in warm]),
        back=median_of_known([each.back for each in warm]),
        not_back=sum(each.back is None for each in warm),
        recoveries=len(recoveries),
        filled_redo=_whole(median_of_known([each.image.last_sample.checkpoint_age for each in beside])),
        filled_ready=median_of_known([trial.seconds_to_ready for trial in of_worst]),
        filled_back=median_of_known([trial.warm.back for trial in of_worst if trial.warm is not None]),
        filled_short=bool(of_worst) and any(each.image.stopped_short for each in beside),
        late_share=max((share for each in on_storage if (share := each.late_share) is not None), default=None),
        buffered=any(each.buffered for each in on_storage),
    )


def _shared(crash: Load | WorstCase) -> tuple[object, ...]:
    """What a load and the filled log beside it share; the storages on which that is recovered may be several."""
    spec = crash.image.spec
    instance = spec.instance
    return (
        *(crash.machine, spec.dataset, spec.workload, spec.threads),
        *(instance.log_size, instance.buffer_pool, instance.flush_log_at_trx_commit, instance.binary_log),
    )


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
