"""How long clients wait for a rotation, beside how long they wait without one."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save
from redolab.units import format_size

from .methods import Method
from .results import CellResult

_ROW = 0.24
"""Inches of a cell."""
_APART = 0.16
"""Of a row's height: the points with a rotation above those without."""


def plot_stalls(folder: Path, cells: Sequence[CellResult]) -> None:
    """A panel a server, a row a cell: each rotation a point, above the stretch without one: `stalls.svg`, `stalls.png`."""
    servers = list(dict.fromkeys(each.label for each in cells))
    panels = [[each for each in cells if each.label == server] for server in servers]
    figure, found = plt.subplots(
        len(panels),
        1,
        sharex=True,
        squeeze=False,
        figsize=(WIDTH, sum(_ROW * len(panel) + 0.4 for panel in panels) + 1.2),
        height_ratios=[len(panel) + 1 for panel in panels],
        layout="constrained",
    )
    axes = [row[0] for row in found]
    for each, server, panel in zip(axes, servers, panels, strict=True):
        _panel(each, panel)
        if len(servers) > 1:
            each.text(0.995, 1.0, server, transform=each.transAxes, ha="right", va="bottom", fontweight="bold")
    axes[-1].set_xlabel("longest time of a statement in a stretch, ms (logarithmic)")
    figure.legend(handles=_legend(cells), loc="outside lower center", ncols=4, fontsize="small", frameon=False)
    head(figure, finding(cells), _shared(cells))
    save(figure, folder / "stalls")


def finding(cells: Sequence[CellResult]) -> str:
    """What the picture shows, in a sentence."""
    worst = max(cells, key=lambda each: each.more)
    where = f"{worst.cell.method} on {worst.cell.file_system}"
    longest, usual = (f"{statistics.median(values):,.0f} ms" for values in (worst.during, worst.without))
    if worst.more <= 0:
        return (
            f"No method makes a statement take longer than it does without a rotation: at most {longest}, and {usual}"
        )
    said = f"By {where} a statement of {worst.label} takes {longest} instead of {usual}"
    own = [each for each in cells if each.cell.method is Method.RENAME_SYNC_FLUSH]
    if own:
        during, without = (
            max(map(max, values)) for values in zip(*((each.during, each.without) for each in own), strict=True)
        )
        said += f"; by redolab slowlog rotate at most {during:,.0f} ms instead of {without:,.0f} ms"
    return said


def _shared(cells: Sequence[CellResult]) -> str:
    sizes = ", ".join(dict.fromkeys(format_size(each.cell.log_file) for each in cells))
    disks = ", ".join(dict.fromkeys(each.cell.storage for each in cells))
    return f"a log of {sizes} on {disks}; a point each stretch, the bar their median"


def _panel(axes: Axes, panel: Sequence[CellResult]) -> None:
    for place, each in enumerate(reversed(panel)):
        for values, colour, at in (
            (each.during, LIMIT if each.cell.held else MEASURED, _APART),
            (each.without, MODEL, -_APART),
        ):
            axes.plot(
                values, [place + at] * len(values), "o", color=colour, markersize=4, alpha=0.55, markeredgewidth=0
            )
            axes.plot(statistics.median(values), place + at, "|", color=colour, markersize=9, markeredgewidth=2.2)
    several = len({(each.cell.storage, each.cell.log_file) for each in panel}) > 1
    axes.set_yticks(range(len(panel)), [_row(each, several) for each in reversed(panel)], fontsize="small")
    axes.set_ylim(-0.6, len(panel) - 0.4)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def _row(result: CellResult, several: bool) -> str:
    cell = result.cell
    held = ", held" if cell.held else ""
    more = f", {cell.storage}, {format_size(cell.log_file)}" if several else ""
    return f"{cell.method}{held} · {cell.file_system}{more}"


def _legend(cells: Sequence[CellResult]) -> list[Line2D]:
    kinds = [
        ("with a rotation", MEASURED, any(not each.cell.held for each in cells)),
        ("with a rotation, logging held", LIMIT, any(each.cell.held for each in cells)),
        ("without, before it", MODEL, True),
    ]
    return [
        Line2D([], [], linestyle="", marker="o", color=colour, label=label) for label, colour, shown in kinds if shown
    ]
