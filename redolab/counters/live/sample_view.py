"""Redo rates for a person: a line a sample or a live table, and a summary at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.table import Table

from redolab.counters.series import Segment, SegmentGrowth, Series
from redolab.report.numbers import number
from redolab.report.table import Column, ReportTable, known
from redolab.servers.redo_counters import Sample
from redolab.units import format_duration, format_size

HEADINGS = f"{'time':>8}  {'redo/h by LSN':>18}  {'os_log_written/h':>16}  {'ratio':>6}  {'age':>8}  {'full':>5}  {'peak/h':>8}"
FROM_OS_LOG_WRITTEN = (
    "There is no LSN: the redo per hour is the range that the model allows for what os_log_written counted "
    "(docs/inflation.md): the most if it counts the LSN or long writes, the least if every write was short."
)


@dataclass(frozen=True, slots=True)
class LiveMoment:
    """State at one sample."""

    sample: Sample
    interval: SegmentGrowth | None
    segment: Segment


def line(moment: LiveMoment) -> str:
    """Return one sample as a line."""
    interval = moment.interval
    time = f"{_clock(moment.sample):>8}"
    if interval is None:
        return f"{time}  (first sample of a server's life: no rate yet)"
    gap = f"  (after a gap of {format_duration(interval.seconds)})" if interval.gap else ""
    return (
        "  ".join(
            [
                time,
                f"{redo(interval):>18}",
                f"{size(interval.per_hour(interval.os_log_written)):>16}",
                f"{number(interval.ratio):>6}",
                f"{size(moment.sample.checkpoint_age):>8}",
                f"{percent(moment.sample.fullness):>5}",
                f"{known(moment.segment.peak, redo):>8}",
            ]
        )
        + gap
    )


def live_table(moment: LiveMoment, title: str) -> Table:
    """Return one sample as a table, which replaces the one before."""
    table = Table(title=title, title_justify="left", show_header=True, box=None, padding=(0, 2))
    for name in ("", "now", "since the start", "peak"):
        table.add_column(name, justify="left" if not name else "right")
    now, whole, peak = moment.interval, moment.segment.whole, moment.segment.peak
    rows: list[tuple[str, Callable[[SegmentGrowth], str]]] = [
        ("redo per hour by LSN", redo),
        ("os_log_written per hour", lambda growth: size(growth.per_hour(growth.os_log_written))),
        ("os_log_written / LSN", lambda growth: number(growth.ratio)),
    ]
    for name, cell in rows:
        table.add_row(name, *(known(growth, cell) for growth in (now, whole, peak)))
    table.add_row("checkpoint age", size(moment.sample.checkpoint_age), "", size(moment.segment.peak_age))
    full, peak_full = moment.sample.fullness, moment.segment.peak_fullness
    table.add_row("of that at which statements wait", percent(full), "", percent(peak_full))
    gaps = moment.segment.gaps
    lost = f", {len(gaps)} gaps of {format_duration(sum(gap.seconds for gap in gaps))} in all" if gaps else ""
    table.caption = f"{moment.segment.samples} samples in {format_duration(whole.seconds)}{lost}"
    table.caption_justify = "left"
    return table


def summary(series: Series) -> ReportTable:
    """Return a row for each segment: its rates, and the peaks."""
    columns = [
        Column[Segment]("from", lambda segment: _clock(segment.first)),
        Column[Segment]("for", lambda segment: format_duration(segment.whole.seconds), right=True),
        Column[Segment]("samples", lambda segment: str(segment.samples), right=True),
        Column[Segment]("gaps", _gaps, right=True),
        Column[Segment]("redo per hour", lambda segment: redo(segment.whole), right=True),
        Column[Segment](
            "os_log_written per hour",
            lambda segment: size(segment.whole.per_hour(segment.whole.os_log_written)),
            right=True,
        ),
        Column[Segment]("os_log_written/LSN", lambda segment: number(segment.whole.ratio), right=True),
        Column[Segment]("highest redo per hour (in one interval of)", _highest, right=True),
        Column[Segment]("highest checkpoint age", lambda segment: size(segment.peak_age), right=True),
        Column[Segment]("of the limit", lambda segment: percent(segment.peak_fullness), right=True),
    ]
    return ReportTable.of("Redo rates", series.segments, columns, _notes(series.segments))


def _notes(segments: Sequence[Segment]) -> list[str]:
    notes = []
    if len(segments) > 1:
        notes.append("A new row begins where the server was restarted: nothing is computed across that.")
    if any(segment.gaps for segment in segments):
        notes.append(
            "What was written in a gap counts for the rate of the whole; a peak in it would not have been seen."
        )
    if any(segment.whole.lsn is None and segment.whole.os_log_written is not None for segment in segments):
        notes.append(FROM_OS_LOG_WRITTEN)
    return notes


def redo(growth: SegmentGrowth) -> str:
    """Return the redo rate, or its range."""
    rates = growth.redo_per_hour
    if rates is None:
        return "–"
    least, most = rates
    return format_size(least) if least == most else f"{format_size(least)}–{format_size(most)}"


def size(value: float | None) -> str:
    """Return a size, or a dash."""
    return known(value, format_size)


def percent(value: float | None) -> str:
    """Return a share, or a dash."""
    return known(value, "{:.0%}".format)


def _highest(segment: Segment) -> str:
    return "–" if segment.peak is None else f"{redo(segment.peak)} ({format_duration(segment.peak.seconds)})"


def _gaps(segment: Segment) -> str:
    if not segment.gaps:
        return "–"
    return f"{len(segment.gaps)} of {format_duration(sum(gap.seconds for gap in segment.gaps))}"


def _clock(sample: Sample) -> str:
    if sample.wall is None:
        return f"up {format_duration(sample.monotonic)}"
    return f"{datetime.fromtimestamp(sample.wall, UTC).astimezone():%H:%M:%S}"
