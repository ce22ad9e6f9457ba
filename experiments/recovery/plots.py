"""Plots of recoveries, as SVG and PNG."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from redolab.counters import Sample
from redolab.crashes.images import CrashImage
from redolab.report.plots import LIMIT, MEASURED, WIDTH, plt, save
from redolab.units import GIB, MIB, format_size

from .table import RecoveryRow

# More of those colours, and hatches for print.
_PHASES = {
    "start": ("#000000", ""),
    "discover": ("#999999", ""),
    "scan": ("#56B4E9", "//"),
    "apply": ("#E69F00", "\\\\"),
    "open": ("#009E73", ".."),
    "accept": ("#F0E442", "xx"),
    "rollback": ("#CC79A7", "--"),
    "untold": ("#FFFFFF", "oo"),
}
_UNTOLD = "untold"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_FEW_BARS = 12
"""Up to so many have their names on two lines."""
_SERVER_GAP = 0.6
"""Between the bars of one server and the next, in bars."""
_MUCH_LONGER = 4.0
"""Times the median: beyond it a bar leaves too little to be seen of the others."""
_LABELS = {
    _UNTOLD: "not told apart by the log",
    "accept": "accept (InnoDB open → ready)",
    "rollback": "rollback after ready",
}


def plot_age(folder: Path, image: CrashImage, samples: Sequence[Sample]) -> None:
    """The checkpoint age from the start of the fill to the kill, with the server's own limits: `age-IMAGE.svg`, `.png`."""
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
    last = image.last_sample
    for limit, name, style in (
        (last.sync_flush_point or image.capacity.sync_flush_point, "flushing is forced", "--"),
        (last.hard_limit or image.capacity.hard_limit, "statements wait", ":"),
    ):
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
    axes.set_title(
        f"{server.server} {server.version.split('-')[0]}, redo log {format_size(image.spec.instance.log_size)}, "
        f"{image.spec.workload}, {image.spec.threads} clients",
        fontsize="medium",
    )
    axes.legend(loc="lower right", fontsize="small")
    save(figure, folder / f"age-{image.name}")


def plot_phases(folder: Path, rows: Sequence[RecoveryRow]) -> None:
    """The phases of each row as one stacked bar, with the range of the times to ready: `phases.svg`, `.png`.

    Where the longest bars leave nothing to be seen of the others, a second panel has the same bars enlarged.
    """
    many = len(rows) > _FEW_BARS
    names = [_bar_name(row, " · " if many else "\n") for row in rows]
    servers = list(dict.fromkeys(row.server for row in rows))
    places = [place + _SERVER_GAP * servers.index(row.server) for place, row in enumerate(rows)]
    enlarged = enlarged_to([sum(width for _, width in bar_segments(row)) for row in rows])
    figure, panels = plt.subplots(
        ncols=1 if enlarged is None else 2, sharey=True, squeeze=False,
        figsize=(WIDTH if enlarged is None else 1.5 * WIDTH, 2.0 + (0.3 if many else 0.65) * places[-1]),
        layout="constrained",
    )  # fmt: skip
    for axes in panels[0]:
        _draw_bars(axes, places, rows)
        axes.margins(y=0.02)
        axes.set_xlabel("seconds since the start of the server")
    first = panels[0][0]
    first.set_yticks(places, names)
    first.invert_yaxis()
    first.set_title(f"the median recovery of {min((row.n for row in rows if row.n), default=0)}", fontsize="medium")
    if enlarged is not None:
        panels[0][1].set_xlim(0, enlarged)
        panels[0][1].set_title("the same, enlarged", fontsize="medium")
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small", frameon=False)
    save(figure, folder / "phases")


def enlarged_to(lengths: Sequence[float]) -> float | None:
    """Where the axis of a second panel ends, for bars of so many seconds; None if one is enough."""
    usual = _MUCH_LONGER * statistics.median(lengths)
    return None if max(lengths) <= usual else 1.05 * max(length for length in lengths if length <= usual)


def _bar_name(row: RecoveryRow, between: str) -> str:
    sizes = f"log {format_size(row.log_size_bytes)}, pool {format_size(row.buffer_pool_bytes)}"
    asked = f", {row.settings}" if row.settings else ""
    return f"{row.server}{between}{row.storage}, {sizes}{asked}"


def _draw_bars(axes: Axes, places: Sequence[float], rows: Sequence[RecoveryRow]) -> None:
    labelled: set[str] = set()
    for place, row in zip(places, rows, strict=True):
        left = 0.0
        for phase, width in bar_segments(row):
            colour, hatch = _PHASES[phase]
            label = None if phase in labelled else _LABELS.get(phase, phase)
            labelled.add(phase)
            axes.barh(
                place, width, left=left, height=0.6, color=colour, hatch=hatch, edgecolor="black", linewidth=0.5, label=label
            )  # fmt: skip
            left += width
        if (spread := _spread(row)) is not None:
            axes.errorbar(
                spread.median, place, xerr=spread.errors, color="black", capsize=4, marker="|", markersize=10,
                label=None if "ready" in labelled else "ready: median, min–max",
            )  # fmt: skip
            labelled.add("ready")
        if row.stuck or row.gave_up:
            axes.plot(
                [row.progress_ended_s or 0.0], [place], marker="X", markersize=11, color=LIMIT, linestyle="",
                label=None if "ended" in labelled else "got no further",
            )  # fmt: skip
            axes.annotate(
                f"{'stuck' if row.stuck else 'gave up'} at {row.ended_at}", (row.progress_ended_s or 0.0, place),
                xytext=(9, 0), textcoords="offset points", va="center", fontsize="small", color=LIMIT,
            )  # fmt: skip
            labelled.add("ended")


@dataclass(frozen=True, slots=True)
class _Spread:
    """Seconds to ready of a row."""

    median: float
    least: float
    most: float

    @property
    def errors(self) -> list[list[float]]:
        """As error bars take them."""
        return [[self.median - self.least], [self.most - self.median]]


def _spread(row: RecoveryRow) -> _Spread | None:
    """The times of a row; None if none of its recoveries ended in a server that was ready."""
    if row.ready_median_s is None or row.ready_min_s is None or row.ready_max_s is None:
        return None
    return _Spread(row.ready_median_s, row.ready_min_s, row.ready_max_s)


def plot_redo(folder: Path, rows: Sequence[RecoveryRow]) -> None:
    """Time to ready against the redo that was read, a mark for each storage, filled with the larger pool: `redo.svg`, `.png`."""
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
    save(figure, folder / "redo")


def bar_segments(row: RecoveryRow) -> list[tuple[str, float]]:
    """The bar of a row: (phase, seconds) to ready, with one segment for all that the log does not tell apart, then the rollback."""
    phases = ("start", "discover", "scan", "apply", "open", "accept")
    # Of one that got no further nobody knows how long its process took to start: it is in what is not told apart.
    known_phases = phases if row.typical_ready_s is not None else phases[1:]
    seconds = {phase: getattr(row, f"{phase}_s") for phase in known_phases}
    # Of the recovery whose phases these are: of two, the median is neither. Of one that got no further, up to there.
    whole = row.typical_ready_s if row.typical_ready_s is not None else row.progress_ended_s or 0.0
    untold = whole - sum(known for known in seconds.values() if known is not None)
    segments: list[tuple[str, float]] = []
    for phase, known in seconds.items():
        if known is not None:
            segments.append((phase, known))
        elif (_UNTOLD, untold) not in segments:
            segments.append((_UNTOLD, untold))
    return [*segments, ("rollback", row.rollback_s)] if row.rollback_s else segments


def _unit(size: float) -> tuple[int, str]:
    return (GIB, "GiB") if size >= GIB else (MIB, "MiB")
