"""Report of a throughput run: throughput that a larger redo log gains, and recovery time that it adds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from redolab.crash.records.recovery import BACK
from redolab.errors import LabError
from redolab.report.contents import Plot, Report
from redolab.report.intervals import RelativeChange
from redolab.report.numbers import NONE, number, signed_span, span
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, wrapped
from redolab.report.quantities import quantity_columns
from redolab.report.table import PAGE, SCREEN, Column, ReportTable
from redolab.results.load_figures import STALLED, LoadFigures, age_shares, per_second
from redolab.results.loads import Load, found_in, settings_in_words
from redolab.results.log_sizes import LogSize, log_size_rows, log_sizes
from redolab.results.marks import MARK, Off, disks_of, marks_of, storage_label, storage_remarks
from redolab.results.plateau import throughput_difference_in_words
from redolab.runs.factors import read_factors
from redolab.runs.store import Run
from redolab.units import format_duration, format_size, size_span
from redolab.workloads.catalogue import workload_catalogue

from .experiment import Factors

Series: TypeAlias = Sequence[LogSize]
"""Loads that differ in their log alone, smallest log first."""

_STEADINESS = ("latency_95_ms", "worst_second_share", "age_share")
"""Figures of a load in the main table."""
_SHADES, _LIGHTEST = "viridis_r", 0.2
_SMOOTHED = 30
"""Seconds over which throughput is averaged in the plot of loads."""
_LETTERS = 27
"""Characters of a panel's name in a line, for panels side by side."""
_MOST_RTO = 4
"""Times the longest recovery: an RTO beyond it is left out, as it would press the recoveries flat."""


def report(run: Run) -> Report:
    """Return the answer, the tables and the plots of a run. Raises `LabError` if it cannot be read."""
    series = log_sizes(found_in([run]))
    if not series:
        return Report(answer=answer(series), tables=[])
    off = marks_of([run])
    disks, disk_rows = disks_of(run)
    return Report(
        answer=answer(series),
        tables=[sizes_table(series, off)],
        details=[sizes_table(series, off, PAGE), costs_table(series, off), *disks],
        rows={"table": log_size_rows(series), **disk_rows},
        plots=[
            Plot("trade", partial(plot_trade, series=series, rto=_rto(run))),
            Plot("loads", partial(plot_loads, series=series)),
        ],
    )


def _rto(run: Run) -> float:
    """Return the recovery time objective of a run, in seconds."""
    try:
        return read_factors(Factors, run.record().options).rto
    except LabError:
        return Factors().rto


def answer(series: Sequence[Series]) -> str:
    """Return the change of throughput and of recovery time with the largest log, against the smallest."""
    if not series:
        return "No load was measured."
    sizes = sorted({each.log_size for one in series for each in one})
    ends = [(one[0], one[-1]) for one in series if len(one) > 1]
    if not ends:
        every = [each for one in series for each in one]
        rates = span([each.rate.mean for each in every], 0)
        ready = span([each.ready_s for each in every if each.ready_s is not None], 1)
        return f"With {size_span(sizes)} of redo log throughput was {rates} {_units(series)}, recovery took {ready} s."
    longer = [
        last.ready_s - first.ready_s for first, last in ends if first.ready_s is not None and last.ready_s is not None
    ]
    gains = [last.gain for _, last in ends if last.gain is not None]
    throughput = _gains_in_words(gains) if gains else _differences_in_words(series)
    recovery = f", recovery time by {signed_span(longer, 1)} s" if longer else ""
    return f"With {format_size(sizes[-1])} instead of {format_size(sizes[0])} of redo log {throughput}{recovery}."


def _gains_in_words(gains: Sequence[RelativeChange]) -> str:
    if len(gains) == 1:
        return f"throughput changed by {gains[0].with_interval()}{' (one load each)' * math.isnan(gains[0].low)}"
    known = [each for each in gains if not math.isnan(each.low)]
    significant = sum(each.excludes_zero for each in known)
    certainty = f"significant in {significant} of {len(gains)} series" if known else "no interval"
    return f"throughput changed by {signed_span([100 * each.change for each in gains], 0)} % ({certainty})"


def _differences_in_words(series: Sequence[Series]) -> str:
    furthest = max(one[0].series.furthest for one in series)
    return f"throughput differed by {throughput_difference_in_words(furthest)}, in other minutes of the loads"


def _units(series: Sequence[Series]) -> str:
    return " or ".join(dict.fromkeys(each.unit for one in series for each in one))


def names(series: Sequence[Series]) -> list[str]:
    """Return the name of each series: the server, and whatever else tells it from the others."""
    made = [
        {
            "server": one[0].label,
            "storage": one[0].storage,
            "settings": settings_in_words(one[0].series.spec) or "production settings",
            "machine": f"on {one[0].machine}",
        }
        for one in series
    ]
    varied = [name for name in made[0] if name == "server" or len({each[name] for each in made}) > 1]
    return [", ".join(each[name] for name in varied) for each in made]


def sizes_table(series: Sequence[Series], off: Off, widest: int = SCREEN) -> ReportTable:
    """Return a table with a row for each log size: throughput, its evenness, and the costs of a crash."""
    columns = [
        *_identity_columns(series, off),
        Column[LogSize](f"{_units(series)} (95 %)", _rate, right=True),
        Column[LogSize]("gain", lambda row: row.gain.with_interval() if row.gain else NONE, right=True),
        *quantity_columns(LoadFigures, _figures, _STEADINESS, spare=True),
        Column[LogSize]("redo", lambda row: _size(row.redo), right=True),
        *quantity_columns(LogSize, _itself),
        Column[LogSize]("its redo", lambda row: _size(row.full_redo), right=True, spare=True),
        Column[LogSize]("n", lambda row: str(row.n), right=True, shared="n={} each".format),
    ]
    notes = [
        "Throughput: mean and half of its 95 % interval; that of a single load covers chance within it, and the next load "
        "differs by more. gain: against the smallest log, in equal minutes of the loads of a block.",
        "p95 (median of the seconds), slowest second (of the median) and age (mean checkpoint age, of the age at which "
        "statements wait): of the load with the median throughput.",
        f"redo, recovery: of the crash at a load's end, under production flushing. back: until throughput is {BACK:.0%} of "
        "what it was; a recovery after which it was not counts as never. log full: flushing was held back until the crash.",
        *(f"{name}: {fact}." for name, one in zip(names(series), series, strict=True) for fact in _facts(one)),
        *storage_remarks([each.storage_use for one in series for each in one], off),
        *workload_catalogue().get(series[0][0].series.spec.workload).caveats,
    ]
    rows = [each for one in series for each in one]
    return ReportTable.brief("Throughput and recovery by log size", rows, columns, notes, widest)


def costs_table(series: Sequence[Series], off: Off) -> ReportTable:
    """Return a table of the writes of a transaction, and the use of the machine."""
    columns = [
        *_identity_columns(series, off),
        Column[LogSize]("commits/s", lambda row: number(row.typical.figures.commits.mean, 0), right=True),
        *quantity_columns(LoadFigures, _figures),
        Column[LogSize]("load", lambda row: format_duration(row.typical.image.fill_seconds), right=True),
    ]
    notes = [
        "redo (by the LSN), os_log_written, pages flushed (the doublewrite buffer not counted) and all that the device under "
        f"the data directory was sent: for each committed transaction. stalls: seconds with {STALLED:.0%} of the median or less."
    ]
    rows = [each for one in series for each in one]
    return ReportTable.brief("What a transaction writes", rows, columns, notes, PAGE)


def _identity_columns(series: Sequence[Series], off: Off) -> list[Column[LogSize]]:
    several_machines = len({one[0].machine for one in series}) > 1
    return [
        *([Column[LogSize]("machine", lambda row: row.machine)] if several_machines else []),
        Column[LogSize]("server", lambda row: row.label, shared=str),
        Column[LogSize]("storage", lambda row: storage_label(row.storage_use, off), shared="on {}".format),
        Column[LogSize]("settings", lambda row: settings_in_words(row.series.spec), shared=str),
        Column[LogSize]("pool", lambda row: format_size(row.series.spec.instance.buffer_pool), shared="pool {}".format),
        Column[LogSize]("tables", lambda row: format_size(row.series.spec.dataset.size), shared="tables {}".format),
        Column[LogSize]("clients", lambda row: str(row.series.spec.threads), shared="{} clients".format),
        Column[LogSize]("log", lambda row: format_size(row.log_size), right=True),
    ]


def _rate(row: LogSize) -> str:
    half = (row.rate.high - row.rate.low) / 2
    reach = "" if math.isnan(half) else f" ±{number(half, 0)}"
    return f"{number(row.rate.mean, 0)}{MARK * bool(row.unsteady)}{reach}"


def _size(value: float | None) -> str:
    return NONE if value is None else format_size(round(value))


def _figures(row: LogSize) -> LoadFigures:
    return row.typical.figures


def _itself(row: LogSize) -> LogSize:
    return row


def _facts(one: Series) -> Iterator[str]:
    """Yield what a reader must know of a series before using its rows."""
    series, largest = one[0].series, one[-1].log_size

    def sizes(holds: Callable[[LogSize], bool]) -> str:
        return ", ".join(format_size(each.log_size) for each in one if holds(each))

    if series.plateau is not None and any(each.gain is not None and each.gain.excludes_zero for each in one):
        yield series.plateau.in_words(one[0].log_size, largest)
    if (tables := series.spec.dataset.size) < largest:
        yield f"the largest log holds no more than the pages of its tables, {format_size(tables)}"
    if series.uneven:
        yield "some blocks lack some sizes; throughput is what it would have been beside the smallest log"
    if apart := sizes(lambda row: row.log_size in series.apart):
        smallest = format_size(one[0].log_size)
        yield f"no gain is claimed for {apart}, measured in other minutes of the load than {smallest}"
    if not series.repeated and (part := sizes(_is_part_of_a_log)):
        yield f"with {part} less than a whole log was written while measuring: the interval does not cover its rise and fall"
    if missed := sizes(lambda row: bool(row.not_back)):
        yield f"with {missed} throughput was not back after each recovery while the clients were followed"
    if short := sizes(lambda row: row.full_is_short):
        yield f"with {short} the age stopped growing below its target; a worse case than this full log is possible"
    if more := sizes(lambda row: (row.full_redo or math.inf) < (row.redo or 0)):
        yield f"with {more} the crash at the load's end left more redo than the full log"
    if unsteady := sizes(lambda row: bool(row.unsteady)):
        yield f"with {unsteady} ({MARK}) throughput was not steady when the time was up"


def _is_part_of_a_log(row: LogSize) -> bool:
    fillings = row.typical.figures.measured_fillings
    return fillings is not None and fillings < 1


def plot_trade(series: Sequence[Series], rto: float) -> Figure:
    """Plot throughput above recovery over the log's size, a column a series, with the RTO."""
    figure, panels = plt.subplots(
        2, len(series), figsize=(max(WIDTH, 2.6 * len(series)), 5.4), sharex="col", sharey="row",
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for (above, below), one in zip(panels.T, series, strict=True):
        _draw_throughput(above, one)
        for name, label, marker, colour in (
            ("full_s", "recovery with the log full", "s--", MODEL),
            ("ready_s", "recovery after this load", "o-", MEASURED),
        ):
            points = [(each.log_size, seconds) for each in one if (seconds := getattr(each, name)) is not None]
            if points:
                below.plot(*zip(*points, strict=True), marker, color=colour, label=label)
        below.set_xlabel("redo log")
        for panel in (above, below):
            _draw_sizes(panel, one)
    slowest = max((each for one in series for size in one for each in (size.ready_s, size.full_s) if each), default=0.0)
    if rto <= _MOST_RTO * slowest:
        for panel in panels[1]:
            panel.axhline(rto, color=LIMIT, linewidth=1, label=f"RTO {format_duration(rto)}")
    panels[0][0].set_ylabel("throughput,\nsmallest log = 100%")
    panels[0][0].yaxis.set_major_formatter("{x:.0%}")
    panels[1][0].set_ylabel("recovery time, s")
    for row in panels:
        row[0].set_ylim(0, 1.05 * row[0].get_ylim()[1])
    figure.legend(
        *panels[1][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small", frameon=False
    )
    head(figure, answer(series).removesuffix("."), "")
    _title(panels[0], series)
    return figure


def _draw_throughput(panel: Axes, one: Series) -> None:
    """Plot throughput relative to the series' smallest log, so that all series have one scale."""
    base, series = one[0].rate.mean or math.nan, one[0].series
    apart = [each for each in one if each.log_size in series.apart]
    # A line between points would compare them, and suggest a gain.
    for rows, line, fill in (([each for each in one if each not in apart], "-", MEASURED), (apart, "", "white")):
        # The interval within one load would look like the one between loads.
        reach = [(each.rate.high - each.rate.low) / 2 / base for each in rows] if series.repeated else None
        panel.errorbar(
            [each.log_size for each in rows], [each.rate.mean / base for each in rows], yerr=reach, marker="o",
            linestyle=line, color=MEASURED, markerfacecolor=fill, capsize=3,
        )  # fmt: skip
    for each in one:
        if each.gain is not None and each.gain.excludes_zero:
            panel.annotate(
                f"{each.gain.change:+.0%}", (each.log_size, each.rate.mean / base), xytext=(0, 9),
                textcoords="offset points", ha="center", fontsize="small",
            )  # fmt: skip


def _draw_sizes(panel: Axes, one: Series) -> None:
    sizes = [each.log_size for each in one]
    panel.set_xscale("log", base=2)
    panel.set_xticks(sizes, [format_size(size) for size in sizes])
    panel.minorticks_off()
    panel.margins(x=0.2, y=0.15)
    panel.grid(visible=True, axis="y", color="#DDDDDD", linewidth=0.5)


def plot_loads(series: Sequence[Series]) -> Figure:
    """Plot throughput and checkpoint age from the start of each load, a row a series."""
    figure, panels = plt.subplots(
        len(series), 2, figsize=(WIDTH, 1.4 + 2 * len(series)), sharex="row", layout="constrained", squeeze=False
    )
    sizes = sorted({each.log_size for one in series for each in one})
    shades = plt.get_cmap(_SHADES)
    colours = {size: shades(_LIGHTEST + (1 - _LIGHTEST) * place / len(sizes)) for place, size in enumerate(sizes, 1)}
    for (left, right), one in zip(panels, series, strict=True):
        for each in one:
            label = format_size(each.log_size)
            left.plot(*_throughput_over_time(each.typical), color=colours[each.log_size], label=label)
            right.plot(*_age_over_time(each.typical), color=colours[each.log_size], linewidth=1)
        left.set_ylim(bottom=0)
        left.yaxis.set_major_formatter("{x:,.0f}")
        image = one[-1].typical.image
        for age in (image.capacity.async_flush_point, image.sync_flush_point):
            right.axhline(age / image.hard_limit, color=LIMIT, linestyle="--", linewidth=0.8)
        right.set_ylim(0, 1.05)
        right.yaxis.set_major_formatter("{x:.0%}")
    panels[-1][0].set_xlabel(f"minutes under load\n({_units(series)}, means of {_SMOOTHED} s)")
    panels[-1][1].set_xlabel("minutes under load\n(checkpoint age, of the hard limit)")
    figure.legend(
        *panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small", frameon=False
    )
    head(figure, "Throughput and checkpoint age of each load; dashed: the async and the sync flush point", "")
    _title(panels[:, 0], series)
    return figure


def _title(panels: Iterable[Axes], series: Sequence[Series]) -> None:
    for panel, name in zip(panels, names(series), strict=True):
        panel.set_title("\n".join(wrapped(name, _LETTERS)), fontsize="small", loc="left", color=MODEL)


def _throughput_over_time(load: Load) -> tuple[list[float], list[float]]:
    """Return minutes from the first report, and throughput in the seconds from each on."""
    seconds = per_second(load.reports)
    rates = [each.commits if each.new_orders is None else 60 * each.new_orders for each in seconds]
    # Leave out an incomplete last interval: a mean of few seconds would be a spike.
    starts = range(0, len(seconds) - _SMOOTHED + 1, _SMOOTHED)
    return (
        [(seconds[at].end - seconds[0].end) / 60 for at in starts],
        [statistics.fmean(rates[at : at + _SMOOTHED]) for at in starts],
    )


def _age_over_time(load: Load) -> tuple[list[float], list[float]]:
    """Return minutes from the first sample, and the checkpoint age as a share of the hard limit."""
    points = age_shares(load.samples, load.image.capacity)
    return [(at - points[0][0]) / 60 for at, _ in points], [share for _, share in points]
