"""Loads by the size of their redo log, with their recoveries and the recoveries of a log that was filled up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from redolab.report.intervals import Estimate, RelativeChange, median_of_known
from redolab.report.labels import server_label
from redolab.report.quantities import Quantity
from redolab.results.comparison_key import Field
from redolab.results.gains import LoadCell, LoadSeries, load_series
from redolab.results.loads import Load, MeasuredLoads, WorstCase, found_in
from redolab.results.marks import StorageUse
from redolab.results.recoveries import median_back
from redolab.results.rows import load_columns
from redolab.runs.pages import measured_runs

if TYPE_CHECKING:
    import polars

_OF_FILLING = (
    Field.STORAGE,
    Field.LOAD_STORAGE,
    Field.KILL,
    Field.THINK_TIME,
    Field.POOL_DUMP,
    Field.PURPOSE,
    Field.OVERRIDES,
    Field.WITHOUT,
)
"""Parts of the comparison key in which a load and the filled log beside it differ: filling, kill and storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSize:
    """Loads of one series with one size of redo log, and the recoveries after them; bytes and seconds.

    Figures of recoveries are medians. `full_*` are those of the log filled up with flushing throttled.
    """

    series: LoadSeries
    typical: Load
    """Load with the median throughput, which represents the others where a figure is of one load."""
    log_size: int
    rate: Estimate
    """Throughput of all loads, in `unit`."""
    gain: RelativeChange | None
    """Throughput relative to the smallest log; None for that log, and if equal seconds of the loads do not compare."""
    n: int
    """Number of loads."""
    unsteady: int
    """Loads that should have become steady and did not."""
    redo: float | None
    """Checkpoint age at the crash."""
    ready_s: Annotated[float | None, Quantity("recovery", "s", 1)]
    back_s: Annotated[float | None, Quantity("back", "s", 1)]
    """Time until throughput is back; None if it was not in half of the recoveries that were followed."""
    not_back: int
    """Followed recoveries after which throughput was not back."""
    full_redo: float | None
    full_s: Annotated[float | None, Quantity("log full", "s", 1)]
    full_is_short: bool
    """True if the age of the log that was recovered stopped growing below its target."""
    storage_use: StorageUse
    """Storage of the loads and of all recoveries."""

    @property
    def machine(self) -> str:
        """Name of the machine in tables."""
        return self.series.machine

    @property
    def storage(self) -> str:
        """Name of the storage profile."""
        return self.series.spec.storage

    @property
    def label(self) -> str:
        """Server, as in `MySQL 9.7.4`."""
        dataset = self.series.spec.dataset
        return server_label(dataset.server, dataset.version)

    @property
    def unit(self) -> str:
        """Unit of the throughput."""
        return "commits/s" if self.typical.figures.new_orders is None else "NOTPM"


def log_sizes(found: MeasuredLoads) -> list[list[LogSize]]:
    """Return each series of loads as its log sizes, smallest first, in the order of measuring."""
    return [[_log_size(series, cell, found.worst) for cell in series.cells] for series in load_series(found.loads)]


def _log_size(series: LoadSeries, cell: LoadCell, worst: Sequence[WorstCase]) -> LogSize:
    spec, loads = series.spec, cell.loads
    recoveries = [each for load in loads for each in load.recoveries]
    filled = _filled_beside(cell.typical, worst)
    of_filled = [
        each
        for crash in filled
        for each in crash.recoveries
        if (each.trial.storage, each.trial.buffer_pool) == (spec.storage, spec.instance.buffer_pool)
    ]
    warm = [each.warm for each in recoveries if each.warm is not None]
    late = [*(load.storage_use.late_share for load in loads), *(each.trial.late_share for each in of_filled)]
    storage_use = StorageUse(
        machine=series.machine,
        storage=spec.storage,
        late_share=max((share for share in late if share is not None), default=None),
        buffered=any(each.trial.buffered for each in (*recoveries, *of_filled)),
    )
    return LogSize(
        series=series,
        typical=cell.typical,
        log_size=cell.log_size,
        rate=cell.rate,
        gain=series.gains.get(cell.log_size),
        n=len(loads),
        unsteady=sum(load.image.steady is False for load in loads),
        redo=median_of_known([load.image.last_sample.checkpoint_age for load in loads]),
        ready_s=median_of_known([each.trial.ready_s for each in recoveries]),
        back_s=median_back(warm),
        not_back=sum(each.back is None for each in warm),
        full_redo=median_of_known([each.image.last_sample.checkpoint_age for each in filled]),
        full_s=median_of_known([each.trial.ready_s for each in of_filled]),
        full_is_short=bool(of_filled) and any(each.image.stopped_short for each in filled),
        storage_use=storage_use,
    )


def _filled_beside(load: Load, filled: Sequence[WorstCase]) -> Sequence[WorstCase]:
    """Return the crashes of a log filled as under the load, except for flushing and the storages of its recoveries.

    Recovery differs with less redo: return those filled to the highest age, or all if there are none.
    """
    # A filled log has no further settings, and says nothing of a server with some.
    if load.image.spec.instance.overrides:
        return []
    key = load.key.ignoring(*_OF_FILLING)
    beside = [each for each in filled if each.machine == load.machine and each.key.ignoring(*_OF_FILLING) == key]
    return [each for each in beside if each.image.spec.kill.highest_age] or beside


_PLAIN = ("n", "unsteady", "ready_s", "back_s", "not_back", "full_redo", "full_s", "full_is_short")


def log_size_rows(series: Sequence[Sequence[LogSize]]) -> list[Mapping[str, object]]:
    """Return a row for each log size: its fields, and of its typical load the columns that docs/run-data.md has."""
    return [
        {
            "series": number,
            "machine": each.machine,
            "server": each.series.spec.dataset.server,
            "version": each.series.spec.dataset.version,
            "storage": each.storage,
            "workload": each.series.spec.workload,
            "threads": each.series.spec.threads,
            "dataset_bytes": each.series.spec.dataset.size,
            "fill_pool_bytes": each.series.spec.instance.buffer_pool,
            "log_size_bytes": each.log_size,
            "rate": each.rate.mean,
            "rate_low": each.rate.low,
            "rate_high": each.rate.high,
            "gain": None if each.gain is None else each.gain.change,
            "gain_low": None if each.gain is None else each.gain.low,
            "gain_high": None if each.gain is None else each.gain.high,
            "image": each.typical.image.name,
            **load_columns(each.typical),
            "fill_s": each.typical.image.fill_seconds,
            "checkpoint_age_bytes": each.redo,
            **{name: getattr(each, name) for name in _PLAIN},
            "late_share": each.storage_use.late_share,
            "buffered": each.storage_use.buffered,
        }
        for number, sizes in enumerate(series)
        for each in sizes
    ]


def measured_log_sizes(folder: str) -> polars.DataFrame:
    """Return the rows of the loads in a folder of data/measured. Raises `LabError`."""
    import polars as pl

    rows = log_size_rows(log_sizes(found_in(measured_runs(folder))))
    return pl.DataFrame(rows, infer_schema_length=None)
