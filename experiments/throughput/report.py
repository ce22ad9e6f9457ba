"""Report of a throughput run: its answer, its tables and its pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from redolab.errors import LabError
from redolab.models.plateau import throughput_difference_in_words
from redolab.report.contents import Plot, Report
from redolab.results.loads import MeasuredLoads, found_in
from redolab.results.marks import disks_of, marks_of
from redolab.runs.factors import read_factors
from redolab.runs.store import Run

from .answer import answer, gained, name_of, title
from .factors import Factors
from .plots import plot_ages, plot_over_time, plot_trade
from .rows import ThroughputSeries, row_dictionaries, series_of
from .table import costs_table, throughput_table


def report(run: Run) -> Report:
    """Return the answer, the tables and the pictures of a run's loads."""
    found = found_in([run])
    series = series_of(found)
    if not series:
        return Report(answer=answer(series), tables=[])
    off = marks_of([run])
    disks, of_disks = disks_of(run)
    return Report(
        answer=answer(series),
        tables=[throughput_table(series, workloads_of(found), off)],
        details=[costs_table(series, off), *disks],
        rows={"table": row_dictionaries(series), **of_disks},
        plots=plots(series, rto_of(run)),
    )


def plots(series: Sequence[ThroughputSeries], rto: float, suffix: str = "") -> list[Plot]:
    """Return plots of the trade and of the loads over time; `suffix` distinguishes them from those of other series."""

    def plot(name: str, draw: Callable[[Path], None]) -> Plot:
        return Plot(f"{name}{suffix}", lambda folder: draw(folder / f"{name}{suffix}"))

    return [
        plot("trade", partial(plot_trade, series=series, rto=rto, title=title(series))),
        plot("age", partial(plot_ages, series=series, title=age_title(series))),
        plot("time", partial(plot_over_time, series=series, title=time_title(series))),
    ]


def age_title(series: Sequence[ThroughputSeries]) -> str:
    """Return the finding of the picture of checkpoint ages."""
    kept = [
        f"{name_of(each, series)} {min(shares):.0%} to {max(shares):.0%}"
        for each in series
        if (shares := [row.figures.age_share for row in each.rows if row.figures.age_share is not None])
    ]
    if not kept:
        return "The checkpoint age under load"
    return f"Mean checkpoint age under load, of the log's limit: {', '.join(kept)}"


def time_title(series: Sequence[ThroughputSeries]) -> str:
    """Return the finding of the picture of throughput over time."""
    if any(gained(each) for each in series):
        return "Throughput from the start of each load, by the redo log's size"
    furthest = max((each.furthest for each in series if len(each.rows) > 1), default=None)
    if furthest is None:
        return "Throughput from the start of each load"
    return f"Whatever the redo log's size, throughput differs by {throughput_difference_in_words(furthest)}"


def workloads_of(found: MeasuredLoads) -> list[str]:
    """Return the workloads of the loads."""
    return list(dict.fromkeys(load.image.spec.workload for load in found.loads))


def rto_of(run: Run) -> float:
    """Return the run's recovery time objective, in seconds."""
    try:
        return read_factors(Factors, run.record().options).rto
    except LabError:
        return Factors().rto
