"""Parts of a page of results in a notebook: prose with values, tables and pictures.

A page of docs/results is a notebook without its code: its Markdown cells, and the output of code cells by these
functions.
"""

from __future__ import annotations

import io
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from redolab.report.numbers import NONE
from redolab.report.plots import head, plt
from redolab.report.table import SCREEN, ReportTable
from redolab.report.table import Column as ReportColumn
from redolab.units import KIB, format_size

if TYPE_CHECKING:
    import polars

_INDENTED = re.compile(r"\n +")
_MARGIN = 0.15
"""Inches around a picture."""


@dataclass(frozen=True, slots=True)
class Prose:
    """Markdown with values in it."""

    markdown: str

    def _repr_markdown_(self) -> str:
        return self.markdown


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name in the frame, its title, and the format of its values.

    `how`: a format as in `.1f`, or a function.
    """

    name: str
    title: str
    how: str | Callable[[Any], str] = "s"

    def written(self, value: Any) -> str:
        """Return a value as the table shows it."""
        if value is None:
            return NONE
        return format(value, self.how) if isinstance(self.how, str) else self.how(value)


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot of a page: `NAME` of `docs/results/PAGE-NAME.svg`, and its alternative text."""

    name: str
    alt: str
    svg: str

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, str], dict[str, str]]:
        return {"image/svg+xml": self.svg}, {"name": self.name, "alt": self.alt}


def prose(markdown: str) -> Prose:
    """Show Markdown, mostly an f-string that inserts values."""
    return Prose(markdown)


def table(frame: polars.DataFrame, *columns: str | Column) -> Prose:
    """Show columns of a frame as a table, by default all; an unknown value is a dash.

    A column that pages share has its title in `COLUMNS`; another name is its own title. Numbers, and lists of them, are
    aligned to the right.
    """
    schema = frame.schema
    shown = [_column(each, schema) if isinstance(each, str) else each for each in columns or frame.columns]
    lines = [
        [column.title for column in shown],
        ["---:" if schema[column.name].is_numeric() or schema[column.name].is_nested() else "---" for column in shown],
        *([column.written(row[column.name]) for column in shown] for row in frame.iter_rows(named=True)),
    ]
    return Prose("\n".join(f"| {' | '.join(line)} |" for line in lines))


def report_table(
    title: str, frame: polars.DataFrame, notes: Sequence[str] = (), spare: Sequence[str] = (), widest: int = SCREEN
) -> ReportTable:
    """Return a frame as a table of a report, with the titles and values of `table`.

    Words that all rows share stand above the table. The columns in `spare` are left out first if it is too wide.
    """

    def column(each: Column) -> ReportColumn[Mapping[str, Any]]:
        is_number = frame.schema[each.name].is_numeric()
        return ReportColumn(
            each.title,
            lambda row: each.written(row[each.name]),
            right=is_number,
            shared=None if is_number else f"{each.title} {{}}".format,
            spare=each.name in spare,
        )

    columns = [column(_column(name, frame.schema)) for name in frame.columns]
    return ReportTable.brief(title, list(frame.iter_rows(named=True)), columns, notes, widest)


def _column(name: str, schema: Mapping[str, polars.DataType]) -> Column:
    kind = schema[name]
    how = ",d" if kind.is_integer() else ".2f" if kind.is_float() else "s"
    return COLUMNS.get(name, Column(name, name, how))


def ranged(how: str) -> Callable[[Sequence[float]], str]:
    """Return a function that formats numbers by their median and range, as in `17.8 (16.4–20.7)`."""

    def written(values: Sequence[float]) -> str:
        if len(values) == 1:
            return format(values[0], how)
        return f"{statistics.median(values):{how}} ({min(values):{how}}–{max(values):{how}})" if values else NONE

    return written


def listed(how: str) -> Callable[[Sequence[float]], str]:
    """Return a function that formats each of several numbers, in order, as in `16.4, 18.2`."""
    return lambda values: ", ".join(format(value, how) for value in sorted(values)) or NONE


def change(row: Mapping[str, float | None]) -> str:
    """Return a share with its 95 % interval, as in `+33 % (+22 to +44)`, from `change`, `low` and `high`."""
    at, low, high = (row[name] for name in ("change", "low", "high"))
    if at is None or low is None or high is None:
        return NONE
    return f"{100 * at:+.0f} % ({100 * low:+.0f} to {100 * high:+.0f})"


def words(values: Sequence[object]) -> str:
    """Return an enumeration, as in `MySQL 5.5.9, MySQL 5.6.24 and MySQL 9.7.4`."""
    *most, last = map(str, values)
    return f"{', '.join(most)} and {last}" if most else last


def picture(name: str, figure: Figure, alt: str, finding: str) -> Picture:
    """Show a figure under its finding, in one sentence, and close it.

    It has a margin: on a dark page a picture is a white card.
    """
    head(figure, finding, "")
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None}, bbox_inches="tight", pad_inches=_MARGIN)
    plt.close(figure)
    # A code host shows no notebook that is much larger than half a megabyte.
    return Picture(name, alt, _INDENTED.sub("\n", drawn.getvalue()))


def plot_changes(axes: Axes, rows: polars.DataFrame, places: Sequence[float], colour: str, label: str = "") -> None:
    """Plot changes in per cent at `places` on the vertical axis, with their 95 % intervals: `change`, `low`, `high`."""
    middle, low, high = (100 * rows[name] for name in ("change", "low", "high"))
    axes.errorbar(
        middle, places, xerr=[middle - low, high - middle], fmt="o", color=colour, capsize=2, label=label or None
    )


def measured_on(trials: polars.DataFrame) -> str:
    """Return the machines and dates of trials, as in `2 CPUs of AMD EPYC, 23.5G of memory, 2026-11-22`."""
    machines = trials.select("cores", "cpu", "memory_bytes").unique(maintain_order=True)
    days = sorted({f"{began:%Y-%m-%d}" for began in trials["session_began"].unique()})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    named = dict.fromkeys(
        f"{cores} CPUs of {cpu}, {format_size(memory)} of memory" for cores, cpu, memory in machines.iter_rows()
    )
    return f"{' and '.join(named)}, {when}"


def _kib(size: float) -> str:
    return f"{size / KIB:.1f}"


COLUMNS = {
    column.name: column
    for column in (
        Column("label", "server"),
        Column("log", "redo log", format_size),
        Column("pool", "buffer pool", format_size),
        Column("redo", "redo at crash", format_size),
        Column("settings", "setting", lambda text: text or "none"),
        Column("disk", "storage"),
        Column("share", "stuck"),
        Column("crash", "crash of"),
        Column("binlog", "binary log"),
        Column("variation", "varied"),
        Column("batches", "apply batches", "d"),
        Column("scan_s", "scan, s", ".2f"),
        Column("apply_s", "apply, s", ".2f"),
        Column("other_s", "other, s", ".2f"),
        Column("bound", "bound by"),
        Column("commits_per_s", "commits/s", ",.0f"),
        Column("failed_per_s", "failed/s", ".1f"),
        Column("latency_95_ms", "p95, ms", ".1f"),
        Column("worst_latency_ms", "worst p95, ms", ".0f"),
        Column("worst_second_share", "worst second", ".0%"),
        Column("age_share", "mean age", ".0%"),
        Column("highest_age_share", "highest age", ".0%"),
        Column("checkpoint_age_bytes", "redo at crash", format_size),
        Column("redo_per_commit_bytes", "redo, KiB", _kib),
        Column("os_log_written_per_commit_bytes", "os_log_written, KiB", _kib),
        Column("pages_per_commit_bytes", "pages, KiB", _kib),
        Column("device_per_commit_bytes", "device, KiB", _kib),
        Column("pages_flushed_per_s", "pages flushed/s", ",.0f"),
        Column("load_device_busy_share", "device busy", ".0%"),
        Column("load_cpu_share", "CPUs busy", ".0%"),
        Column("fill_s", "load, s", ".0f"),
        Column("ready_s", "recovery, s", ".1f"),
        Column("back_s", "throughput back, s", ".1f"),
        Column("ready", "recovery time, s", ranged(".1f")),
    )
}
"""Columns that pages share, by name."""
