"""Plot of the throughput that clients of a crashed server had when they returned, as SVG and PNG."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from redolab.records.recovery import BACK
from redolab.report.plots import LIMIT, WIDTH, head, plt, save
from redolab.workloads.data import WorkloadMoment

from .plots import row_names
from .rows import RecoveryRow

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_SMOOTHED = 1.0
"""Seconds over which reports are put together: finer ones scatter."""


def plot_clients(
    folder: Path, series: Sequence[tuple[RecoveryRow, Sequence[WorkloadMoment]]], stem: str = "clients"
) -> None:
    """Plot commits a second from the server's start, as a share of the mean before the crash: `STEM.svg`, `.png`."""
    names, shared = row_names([row for row, _ in series], {})
    figure, axes = plt.subplots(figsize=(WIDTH, 4.5), layout="constrained")
    for (row, moments), name, colour in zip(series, names, itertools.cycle(_COLOURS)):
        points = smoothed(moments)
        before = row.commits_before_per_s or 1.0
        axes.plot(
            [at for at, _ in points],
            [rate / before for _, rate in points],
            color=colour,
            linewidth=1.2,
            label=name or "after",
        )
        if row.typical_back_s is not None:
            axes.plot([row.typical_back_s], [BACK], marker="o", color=colour, linestyle="")
    axes.axhline(BACK, color=LIMIT, linestyle="--", linewidth=1, label=f"{100 * BACK:g} % of the mean before the crash")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds since the start of the server (dot: the 5 s from here on have 90 %)")
    axes.set_ylabel("commits/s, share of the mean before the crash")
    head(figure, _title([row for row, _ in series]), shared)
    figure.legend(loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    save(figure, folder / stem)


def smoothed(moments: Sequence[WorkloadMoment]) -> list[tuple[float, float]]:
    """Return (time, commits a second) of reports, put together to about a second each; times as in the reports."""
    points: list[tuple[float, float]] = []
    begin, commits = None, 0.0
    for before, moment in itertools.pairwise(moments):
        begin = before.monotonic if begin is None else begin
        commits += moment.commits_per_second * (moment.monotonic - before.monotonic)
        if moment.monotonic - begin >= _SMOOTHED:
            points.append((moment.monotonic, commits / (moment.monotonic - begin)))
            begin, commits = None, 0.0
    return points


def _title(rows: Sequence[RecoveryRow]) -> str:
    back = [row.typical_back_s for row in rows if row.typical_back_s is not None]
    if not back:
        return "Throughput was not back while the clients were followed"
    when = f"{min(back):.1f} s" if len(back) == 1 else f"{min(back):.1f} to {max(back):.1f} s"
    missing = f"; in {len(rows) - len(back)} cells it was not" if len(back) < len(rows) else ""
    return f"Throughput was back {when} after the start of the server{missing}"
