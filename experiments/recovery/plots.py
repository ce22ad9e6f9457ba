"""Plots of recoveries, as SVG and PNG."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from redolab.counters import Sample
from redolab.records.crash import CrashImage
from redolab.report.heat import HeatCell, draw_heat
from redolab.report.labels import server_label
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save
from redolab.results.marks import MARK, Off, storage_label
from redolab.units import GIB, MIB, format_size

from .rows import RecoveryRow
from .table import ended

# Light to dark, so that they differ in grey too; from Okabe and Ito's colours where possible.
_AROUND, _SCAN, _UNTOLD, _APPLY, _AFTER, _WARM = "#BBBBBB", "#56B4E9", "#7A9CC6", "#0072B2", "#FFFFFF", "#F0E442"
_PARTS = {
    "start": (_AROUND, "start, discover, open, accept"),
    "discover": (_AROUND, "start, discover, open, accept"),
    "scan": (_SCAN, "scan"),
    "untold": (_UNTOLD, "not timed by the log"),
    "apply": (_APPLY, "apply"),
    "open": (_AROUND, "start, discover, open, accept"),
    "accept": (_AROUND, "start, discover, open, accept"),
    "rollback": (_AFTER, "rollback after ready"),
    "warm": (_WARM, "clients below 90 %"),
}
"""Phase → its colour, and its name in the legend."""
_OUTLINED = ("rollback", "warm")
"""Phases with an outline: too light to be seen on white."""
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_MEDIAN = "median"
_BELOW = 0.4
"""Distance below the middle of a bar, as a share of a row's height."""
MOST_BARS = 16
"""Most rows as bars: for more, a grid of numbers is clearer."""
_MUCH_LONGER = 4.0
"""Multiple of the median from which a bar leaves too little space for the others."""
_WORTH_IT = 2.0
"""Least enlargement of the bars that is worth a second panel."""


def plot_age(folder: Path, image: CrashImage, samples: Sequence[Sample], stem: str | None = None) -> None:
    """Plot the checkpoint age from the start of the load to the kill, with the server's limits: `age-IMAGE.svg`,
    `.png`.

    `stem` replaces `age-IMAGE`.
    """
    known = [(sample.monotonic, sample.checkpoint_age) for sample in samples if sample.checkpoint_age is not None]
    if not known:
        return
    unit, unit_name = _unit(max(age for _, age in known))
    began = known[0][0]
    figure, axes = plt.subplots(figsize=(WIDTH, 4), layout="constrained")
    axes.plot(
        [at - began for at, _ in known],
        [age / unit for _, age in known],
        color=MEASURED,
        label="checkpoint age",
    )
    killed_at, killed_age = known[-1][0] - began, known[-1][1] / unit
    axes.plot([killed_at], [killed_age], marker="X", markersize=11, color=LIMIT, linestyle="", label="SIGKILL")
    limits = {image.capacity.async_flush_point: ("async flush point", "-.")}
    if image.sync_flush_point == image.hard_limit:
        limits[image.hard_limit] = ("sync flush point and hard limit", "--")
    else:
        limits |= {image.sync_flush_point: ("sync flush point", "--"), image.hard_limit: ("hard limit", ":")}
    for limit, (name, style) in limits.items():
        axes.axhline(
            limit / unit,
            color="black",
            linestyle=style,
            linewidth=1,
            label=f"{name}: {format_size(limit)}",
        )
    axes.set_xlabel("seconds since the start of the workload")
    axes.set_ylabel(f"checkpoint age, {unit_name}")
    axes.set_ylim(bottom=0)
    server = image.spec.dataset
    reached = f"killed at {format_size(known[-1][1])} of checkpoint age"
    head(
        figure,
        f"{server_label(server.server, server.version)}, redo log {format_size(image.spec.instance.log_size)}: {reached}, "
        f"{known[-1][1] / image.hard_limit:.0%} of the hard limit",
        f"{image.spec.workload}, {image.spec.threads} clients",
    )
    axes.legend(loc="lower right", fontsize="small")
    save(figure, folder / (stem or f"age-{image.name}"))


_IN_A_ROW = 4
"""Entries in a row of the legend: more are wider than the picture in the fonts of some viewers."""


def plot_phases(
    folder: Path, rows: Sequence[RecoveryRow], title: str, off: Off | None = None, stem: str = "phases"
) -> None:
    """Plot the parts of each row as one bar with its seconds at the end: `STEM.svg`, `.png`.

    If the longest bars hide the others, a second panel enlarges the latter.
    """
    names, shared = row_names(rows, off or {})
    enlarged = enlarged_to([_reach(row) for row in rows])
    figure, panels = plt.subplots(
        ncols=1 if enlarged is None else 2, sharey=True, squeeze=False,
        figsize=(WIDTH if enlarged is None else 1.5 * WIDTH, 1.9 + 0.42 * len(rows)), layout="constrained",
    )  # fmt: skip
    # Recoveries of servers that gave up at once have no length.
    longest = max(_reach(row) for row in rows) or 1.0
    for axes, end in zip(panels[0], (longest, enlarged), strict=False):
        _draw_bars(axes, rows, end or longest)
        axes.set_xlabel("seconds since the start of the server")
        axes.set_xlim(0, 1.16 * (end or longest))
    first = panels[0][0]
    first.set_yticks(range(len(rows)), names)
    first.tick_params(axis="y", length=0)
    first.set_ylim(len(rows) - 0.4, -0.6)
    if enlarged is not None:
        panels[0][1].set_title("the same, enlarged", fontsize="medium")
    head(figure, title, shared)
    handles, labels = first.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(_IN_A_ROW, len(handles)), fontsize="small", frameon=False
    )
    save(figure, folder / stem)


def enlarged_to(lengths: Sequence[float]) -> float | None:
    """Return the end of a second panel's axis, for bars with these lengths in seconds; None if one panel is enough."""
    usual = _MUCH_LONGER * statistics.median(lengths)
    end = 1.05 * max(length for length in lengths if length <= usual)
    return end if end and max(lengths) >= _WORTH_IT * end else None


def row_names(rows: Sequence[RecoveryRow], off: Off) -> tuple[list[str], str]:
    """Return each row's distinct properties as its name, and the properties that all rows share."""
    parts = [_parts(row, off) for row in rows]
    differs = [len(set(of_all)) > 1 for of_all in zip(*parts, strict=True)]
    names = [
        ", ".join(part for part, is_own in zip(of_row, differs, strict=True) if is_own and part) for of_row in parts
    ]
    shared = [part for part, is_own in zip(parts[0], differs, strict=True) if part and not is_own]
    return names, ", ".join(shared)


def _parts(row: RecoveryRow, off: Off) -> tuple[str, ...]:
    return (
        server_label(row.server, row.version),
        storage_label(row, off),
        f"log {format_size(row.log_size_bytes)}",
        f"pool {format_size(row.buffer_pool_bytes)}",
        row.settings,
    )


def _draw_bars(axes: Axes, rows: Sequence[RecoveryRow], end: float) -> None:
    """Draw the bars; their labels stay within an axis of `end` seconds."""
    labelled: set[str] = set()
    for place, row in enumerate(rows):
        left = 0.0
        for phase, width in bar_segments(row):
            colour, label = _PARTS[phase]
            axes.barh(
                place, width, left=left, height=0.62, color=colour, edgecolor=MODEL if phase in _OUTLINED else colour,
                linewidth=0.6, label=None if label in labelled else label, hatch="////" if phase == "warm" else None,
            )  # fmt: skip
            labelled.add(label)
            left += width
        if told := _medians_apart(row):
            axes.plot(
                told, [place + _BELOW] * len(told), linestyle="", marker="^", markersize=4, color="black",
                label=None if _MEDIAN in labelled else _MEDIAN,
            )  # fmt: skip
            labelled.add(_MEDIAN)
        text, colour = _at_the_end(row)
        axes.annotate(
            text, (min(_reach(row), end), place), xytext=(5, 0), textcoords="offset points", va="center", fontsize="small", color=colour
        )  # fmt: skip


def _medians_apart(row: RecoveryRow) -> list[float]:
    """Return the median times to ready and to throughput back, unless the bar, which is one recovery, shows them."""
    medians = (row.ready_median_s, row.back_median_s)
    return (
        [] if medians == (row.typical_ready_s, row.typical_back_s) else [each for each in medians if each is not None]
    )


def _reach(row: RecoveryRow) -> float:
    """Return the end of a bar and of the marks beside it."""
    return max(sum(width for _, width in bar_segments(row)), *_medians_apart(row), 0.0)


def _at_the_end(row: RecoveryRow) -> tuple[str, str]:
    """Return the label at the end of a bar, and its colour: the median with its range, or the failure."""
    median = "" if row.ready_median_s is None else f"{row.ready_median_s:.1f} s"
    spread = f" ({row.ready_min_s:.1f}–{row.ready_max_s:.1f})" if row.n > 1 else ""
    bad = ended(row)
    parts = (median and median + spread, bad)
    lines = [", ".join(part for part in parts if part), _clients_then(row)]
    return "\n".join(line for line in lines if line), LIMIT if bad else "black"


def _clients_then(row: RecoveryRow) -> str:
    if not row.followed:
        return ""
    if row.back_median_s is not None:
        return f"90 % again at {row.back_median_s:.1f} s"
    return f"not 90 % again by {row.followed_s or 0.0:.0f} s"


def plot_matrix(folder: Path, rows: Sequence[RecoveryRow], title: str, off: Off, stem: str = "matrix") -> None:
    """Plot the seconds to ready as a grid: `STEM.svg`, `.png`."""
    across = 1 if len({row.storage for row in rows}) > 1 else 3
    parts = [_parts(row, off) for row in rows]
    differs = [len({part[place] for part in parts}) > 1 for place in range(len(parts[0]))]
    # A mark belongs to a single row, and not to the storage of all.
    heads = [row.storage if across == 1 else part[across] for row, part in zip(rows, parts, strict=True)]
    columns = list(dict.fromkeys(heads))
    names = [
        ", ".join(part for place, part in enumerate(of_row) if place != across and differs[place] and part)
        for of_row in parts
    ]
    cells = {
        (name, column): _heat(row, MARK * (storage_label(row, off) != row.storage))
        for name, column, row in zip(names, heads, rows, strict=True)
    }
    medians = [row.ready_median_s for row in rows if row.ready_median_s is not None] or [1.0]
    lines = list(dict.fromkeys(names))
    figure, axes = plt.subplots(
        figsize=(max(WIDTH, 2.2 + 0.9 * len(columns)), 1.3 + 0.36 * len(lines)), layout="constrained"
    )
    draw_heat(axes, lines, columns, cells, (min(medians), max(medians)))
    shared = [part for place, part in enumerate(parts[0]) if part and not differs[place]]
    head(figure, f"{title} Seconds to ready:", ", ".join(shared))
    save(figure, folder / stem)


def _heat(row: RecoveryRow, mark: str) -> HeatCell:
    if row.ready_median_s is None or ended(row):
        return HeatCell(next((outcome.upper() for outcome in row.bad), "WRONG"), None)
    return HeatCell(f"{row.ready_median_s:.1f}{mark}", row.ready_median_s)


@dataclass(frozen=True, slots=True)
class _Spread:
    """Seconds to ready of a row: median and range."""

    median: float
    least: float
    most: float

    @property
    def errors(self) -> list[list[float]]:
        """Distances from the median in matplotlib's form of error bars."""
        return [[self.median - self.least], [self.most - self.median]]


def _spread(row: RecoveryRow) -> _Spread | None:
    """Return the times of a row; None if no recovery ended in a ready server."""
    if row.ready_median_s is None or row.ready_min_s is None or row.ready_max_s is None:
        return None
    return _Spread(row.ready_median_s, row.ready_min_s, row.ready_max_s)


def plot_redo(folder: Path, rows: Sequence[RecoveryRow], stem: str = "redo") -> None:
    """Plot the time to ready against the redo read, a mark for each storage, filled for the larger pool: `STEM.svg`,
    `.png`.
    """
    known = [
        (row, row.redo_from_recovery_bytes)
        for row in rows
        if row.redo_from_recovery_bytes is not None and row.ready_median_s is not None
    ]
    if len({row.storage for row, _ in known}) * len({redo for _, redo in known}) < 2:
        return
    unit, unit_name = _unit(max(redo for _, redo in known))
    figure, axes = plt.subplots(figsize=(WIDTH, 5), layout="constrained")
    storages = list(dict.fromkeys(row.storage for row, _ in known))
    for storage, marker, colour in zip(storages, itertools.cycle("osD^vP*Xh<>"), itertools.cycle(_COLOURS)):
        of_it = [(row, redo) for row, redo in known if row.storage == storage]
        for row, redo in of_it:
            alike = [
                other for other, _ in known if (other.server, other.log_size_bytes) == (row.server, row.log_size_bytes)
            ]
            largest = max(other.buffer_pool_bytes for other in alike)
            spread = _spread(row)
            assert spread is not None
            axes.errorbar(
                redo / unit, spread.median, yerr=spread.errors,
                color=colour, marker=marker, markersize=8, capsize=3, linestyle="",
                markerfacecolor=colour if row.buffer_pool_bytes == largest else "white",
                label=storage if (row, redo) == of_it[0] else None,
            )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlim(left=0)
    axes.set_xlabel(f"redo read by recovery, {unit_name} (filled: the largest pool; hollow: smaller ones)")
    axes.set_ylabel("seconds to ready (median, min–max)")
    figure.legend(loc="outside lower center", ncols=4, fontsize="small", frameon=False)
    save(figure, folder / stem)


def bar_segments(row: RecoveryRow) -> list[tuple[str, float]]:
    """Return the bar of a row as (phase, seconds): to ready, with one segment for parts the log does not separate, then
    after.
    """
    phases = ("start", "discover", "scan", "apply", "open", "accept")
    # An unfinished recovery hides the start of its process, which the unseparated part includes.
    known_phases = phases if row.typical_ready_s is not None else phases[1:]
    seconds = {phase: getattr(row, f"{phase}_s") for phase in known_phases}
    # Take the recovery with these phases, since the median of two is neither; an unfinished one up to its last phase.
    whole = row.typical_ready_s if row.typical_ready_s is not None else row.progress_ended_s or 0.0
    untold = whole - sum(known for known in seconds.values() if known is not None)
    # An unfinished recovery ended in the phase after its complete ones.
    rest = "untold" if row.typical_ready_s is not None else row.ended_at.split()[-1]
    segments: list[tuple[str, float]] = []
    for phase, known in seconds.items():
        if known is not None:
            segments.append((phase, known))
        elif (rest, untold) not in segments:
            segments.append((rest, untold))
    if row.rollback_s:
        segments.append(("rollback", row.rollback_s))
    # The clients return while the server still rolls back.
    below = (row.typical_back_s or 0.0) - sum(width for _, width in segments)
    return [*segments, ("warm", below)] if below > 0 else segments


def _unit(size: float) -> tuple[int, str]:
    return (GIB, "GiB") if size >= GIB else (MIB, "MiB")
