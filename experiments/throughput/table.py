"""The main table, and the table of the costs of a transaction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from redolab.models.intervals import Estimate
from redolab.records.recovery import BACK
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable
from redolab.results.load_figures import STALLED
from redolab.results.marks import MARK, Off, storage_label, storage_remarks
from redolab.units import KIB, format_duration, format_size
from redolab.workloads.catalogue import workload_catalogue

from .answer import name_of
from .rows import ThroughputRow, ThroughputSeries


def throughput_table(series: Sequence[ThroughputSeries], workloads: Sequence[str], off: Off) -> ReportTable:
    """Return a table with a row for each configuration: throughput, its evenness, and the costs of a crash."""
    rows = [row for each in series for row in each.rows]
    columns = [
        *_which_columns(rows, off),
        Column[ThroughputRow](_unit(rows), lambda row: f"{row.rate.mean:,.0f}{MARK * bool(row.unsteady)}", right=True),
        Column[ThroughputRow]("95 %", lambda row: _half(row.rate), right=True),
        Column[ThroughputRow]("n", lambda row: str(row.n), right=True, shared=_loads, spare=True),
        Column[ThroughputRow]("p95, ms", lambda row: _number(row.figures.latency_95_ms), right=True),
        Column[ThroughputRow]("worst s", lambda row: _percent(row.figures.worst_second), right=True),
        Column[ThroughputRow]("stalls, s", lambda row: str(row.figures.stalled), right=True),
        Column[ThroughputRow]("age", lambda row: _percent(row.figures.age_share), right=True),
        Column[ThroughputRow]("redo", lambda row: _size(row.redo_at_crash), right=True),
        Column[ThroughputRow]("ready, s", lambda row: _seconds(row.ready), right=True),
        Column[ThroughputRow](f"{100 * BACK:g} % again", _again, right=True),
        Column[ThroughputRow]("log filled up", _filled, right=True),
        Column[ThroughputRow](
            "log waits", lambda row: _count(row.figures.log_waits), right=True, shared=_waits, spare=True
        ),
    ]
    notes = [
        "Throughput: mean of what was measured (the last two windows, or two thirds) with its 95 % interval (of several loads from "
        "how much repeated loads differ within a block; of one by batch means: the next load differs by more). "
        "p95: median of the seconds' 95th percentiles, of TPC-C of New-Orders. worst s: the slowest second, as a "
        f"share of the median; stalls: seconds with {100 * STALLED:g} % of it at most. age: mean checkpoint age, as a share of that at "
        "which statements wait; of several loads, p95 to age are of that with the median throughput. redo, ready, again: redo at the "
        "crash at the load's end, under production flushing, and seconds from the start of the server until it is ready, and until "
        "throughput is back at 90 %: the median over all, in which one that did not come back counts as never (not: it did not in "
        "half of them). log filled up: ready "
        "after a crash with flushing held back until the age reaches its target or grows no more, and that redo.",
        *_remarks(series, off),
        *(caveat for name in workloads for caveat in workload_catalogue().get(name).caveats),
    ]
    return ReportTable.brief("Throughput and recovery by log size", rows, columns, notes)


def costs_table(series: Sequence[ThroughputSeries], off: Off) -> ReportTable:
    """Return a table of the writes of a transaction, and the use of the machine."""
    rows = [row for each in series for row in each.rows]

    def kib(of: Callable[[ThroughputRow], float | None]) -> Callable[[ThroughputRow], str]:
        return lambda row: _number(None if (value := of(row)) is None else value / KIB)

    columns = [
        *_which_columns(rows, off),
        Column[ThroughputRow]("commits/s", lambda row: f"{row.figures.commits.mean:,.0f}", right=True),
        Column[ThroughputRow]("failed/s", lambda row: _number(row.figures.errors), right=True),
        Column[ThroughputRow]("redo", kib(lambda row: row.figures.redo_per_commit), right=True),
        Column[ThroughputRow]("os_log_written", kib(lambda row: row.figures.log_per_commit), right=True),
        Column[ThroughputRow]("pages", kib(lambda row: row.figures.pages_per_commit), right=True),
        Column[ThroughputRow]("device", kib(lambda row: row.figures.device_per_commit), right=True),
        Column[ThroughputRow]("pages/s", lambda row: _number(row.figures.pages_flushed), right=True),
        Column[ThroughputRow]("device busy", lambda row: _percent(row.figures.device_busy), right=True),
        Column[ThroughputRow]("processors", lambda row: _percent(row.figures.cpu_share), right=True),
        Column[ThroughputRow]("highest age", lambda row: _percent(row.figures.highest_age_share), right=True),
        Column[ThroughputRow]("worst p95, ms", lambda row: _number(row.figures.worst_latency_ms), right=True),
        Column[ThroughputRow]("load", lambda row: format_duration(row.load_seconds), right=True),
        Column[ThroughputRow]("log waits", lambda row: _count(row.figures.log_waits), right=True),
    ]
    notes = [
        "redo (by the LSN), os_log_written, pages flushed (the doublewrite buffer not counted) and all that the device under the "
        "data directory was sent, redo log included: KiB for each committed transaction."
    ]
    return ReportTable.of("What a transaction writes", rows, columns, notes)


def _which_columns(rows: Sequence[ThroughputRow], off: Off) -> list[Column[ThroughputRow]]:
    """Return the columns that identify a configuration."""
    machines = {row.machine for row in rows}
    return [
        *([Column[ThroughputRow]("machine", lambda row: row.machine)] if len(machines) > 1 else []),
        Column[ThroughputRow]("server", lambda row: server_label(row.server, row.version), shared=str),
        Column[ThroughputRow]("storage", lambda row: storage_label(row, off), shared="on {}".format),
        Column[ThroughputRow]("settings", lambda row: row.settings, shared=str),
        Column[ThroughputRow]("pool", lambda row: format_size(row.pool), right=True, shared="pool {}".format),
        Column[ThroughputRow]("tables", lambda row: format_size(row.dataset), right=True, shared="tables {}".format),
        Column[ThroughputRow]("clients", lambda row: str(row.connections), right=True, shared="{} clients".format),
        Column[ThroughputRow]("log", lambda row: format_size(row.log_size), right=True),
    ]


def _remarks(series: Sequence[ThroughputSeries], off: Off) -> list[str]:
    said = []

    def which(chosen: Callable[[ThroughputSeries, ThroughputRow], bool]) -> str:
        """Return words as in `MariaDB 11.8.6 with 4G; MySQL 9.7.4 with 2G, 4G`."""
        sizes = [(one, [format_size(row.log_size) for row in one.rows if chosen(one, row)]) for one in series]
        return "; ".join(f"{name_of(one, series)} with {', '.join(own)}" for one, own in sizes if own)

    if small := [one for one in series if one.made.tables < one.rows[-1].log_size]:
        named = ", ".join(f"{name_of(one, series)} ({format_size(one.made.tables)})" for one in small)
        said.append(f"{named}: the tables are smaller than the largest log, which holds no more than their pages.")
    if uneven := [one for one in series if one.uneven]:
        named = ", ".join(name_of(one, series) for one in uneven)
        said.append(
            f"{named}: not every size was measured in every block; throughput is what it would have been beside the smallest log."
        )
    if apart := [one for one in series if one.apart]:
        named = "; ".join(_measured_apart(one, series) for one in apart)
        said.append(
            f"Throughput changes in the course of a load, whatever the log, so a gain is computed from equal minutes of the loads alone. "
            f"Not compared: {named}."
        )
    if short := which(lambda one, row: not one.repeated and _is_part_of_a_log(row.figures.measured_fillings)):
        said.append(
            f"{short}: less than a whole log was written in what was measured; the interval there does not cover what throughput does "
            "as the age rises and falls."
        )
    if filled_short := which(lambda _, row: row.filled_short):
        said.append(
            f"{filled_short}: filled up, the age stopped growing below its target; a worse case than "
            "that redo is possible."
        )
    if exceeded := which(lambda _, row: (row.filled_redo or math.inf) < (row.redo_at_crash or 0)):
        said.append(f"{exceeded}: the crash at the load's end left more redo than that with the log filled up.")
    if unsteady := which(lambda _, row: bool(row.unsteady)):
        said.append(f"{MARK} was not steady when its time was up: {unsteady}.")
    return [*said, *storage_remarks([row for each in series for row in each.rows], off)]


def _measured_apart(one: ThroughputSeries, among: Sequence[ThroughputSeries]) -> str:
    """Return words as in `MySQL 9.7.4 with 4G (minutes 24 to 30) and 256M (1 to 7)`."""
    minutes = {
        row.log_size: " to ".join(f"{second / 60:.0f}" for second in load.measured)
        for row, load in zip(one.rows, one.loads, strict=True)
    }
    apart = ", ".join(f"{format_size(size)} (minutes {minutes[size]})" for size in one.apart)
    smallest = one.rows[0].log_size
    return f"{name_of(one, among)} with {apart} and {format_size(smallest)} ({minutes[smallest]})"


def _is_part_of_a_log(fillings: float | None) -> bool:
    return fillings is not None and fillings < 1


def _unit(rows: Sequence[ThroughputRow]) -> str:
    units = {"NOTPM" if row.is_notpm else "commits/s" for row in rows}
    return units.pop() if len(units) == 1 else "throughput"


def _half(rate: Estimate) -> str:
    half = (rate.high - rate.low) / 2
    return "–" if math.isnan(half) else f"±{half:,.0f}"


def _loads(n: str) -> str:
    return "one load each" if n == "1" else f"{n} loads each"


def _waits(count: str) -> str:
    return "no waits for the log buffer" if count == "0" else f"{count} waits for the log buffer each"


def _again(row: ThroughputRow) -> str:
    if row.back is None:
        return "not" if row.not_back else "–"
    return _seconds(row.back) + (f", {row.not_back} not" if row.not_back else "")


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _size(value: int | None) -> str:
    return "–" if value is None else format_size(value)


def _filled(row: ThroughputRow) -> str:
    return "–" if row.filled_ready is None else f"{_seconds(row.filled_ready)} ({_size(row.filled_redo)})"


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
