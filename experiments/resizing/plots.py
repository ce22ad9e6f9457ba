"""The picture of what clients meet while the size of the redo log is changed, as SVG and PNG."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from redolab.records.turns import Resize
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save
from redolab.results.turns import TurnsResult
from redolab.units import format_size

_FROM, _TO = -10, 30
"""Seconds before and after the statement."""


def plot_changes(folder: Path, found: Sequence[TurnsResult], title: str) -> None:
    """A row of panels a cell, larger on the left, smaller on the right; a line a change: `changes.svg`, `.png`."""
    cells = [cell for cell in found if any(block.resizes for block in cell.blocks)]
    figure, panels = plt.subplots(
        len(cells), 2, figsize=(WIDTH, 1.4 + 1.9 * len(cells)), sharex=True, sharey=True, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for row, cell in zip(panels, cells, strict=True):
        for panel, grows in zip(row, (True, False), strict=True):
            _panel(panel, cell.resizes(grows=grows))
        row[0].set_ylabel("throughput", fontsize="small")
    for panel in panels[-1]:
        panel.set_xlabel("seconds since the statement", fontsize="small")
    panels[0][0].set_xlim(_FROM, _TO)
    panels[0][0].set_ylim(bottom=0)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    head(figure, title, "")
    for row, cell in zip(panels, cells, strict=True):
        small, large = (format_size(size) for size in cell.sizes)
        for panel, change in zip(row, (f"{small} to {large}", f"{large} to {small}"), strict=True):
            of_cell = f"{cell.key.label}, {cell.key.cell.workload} on {cell.key.cell.storage}"
            panel.set_title(f"{of_cell}: {change}", fontsize="small", loc="left", color=MODEL)
    save(figure, folder / "changes")


def _panel(panel: Axes, changes: Sequence[Resize]) -> None:
    for number, each in enumerate(changes):
        panel.plot(
            [at for at, _ in each.rates], [100 * rate / each.usual_rate for _, rate in each.rates], color=MEASURED,
            alpha=0.5, linewidth=1, label="one change" if number == 0 else None,
        )  # fmt: skip
    panel.axvline(0, color=MODEL, linewidth=0.8, label="statement")
    if changes:
        done = statistics.median(each.in_force_s for each in changes)
        panel.axvline(done, color=LIMIT, linestyle="--", linewidth=1, label="the log has its size (median)")
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    panel.grid(visible=True, axis="y", color="#DDDDDD", linewidth=0.5)
    panel.set_axisbelow(True)
