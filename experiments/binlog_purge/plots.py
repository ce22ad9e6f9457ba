"""How long writers waited with a removal of binary logs, against without."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save
from redolab.units import format_size

from .results import MILLISECONDS, CellResult, sizes
from .trial import Removal

_LONG_MS = 100
_MARKERS = {Removal.PURGE: "o", Removal.ROTATION: "^"}
_LABELS = {Removal.PURGE: "PURGE", Removal.ROTATION: "at a rotation"}
_APART = 0.2
"""Of a row: without a removal above, with one below."""


def plot_waits(folder: Path, found: Sequence[CellResult]) -> None:
    """A panel for each size of file, a row for each server, two marks for each of its cells: `waits.svg`, `.png`."""
    servers = list(dict.fromkeys(each.label for each in found))
    of_sizes = sizes(found)
    figure, panels = plt.subplots(
        1, len(of_sizes), figsize=(WIDTH, 1.9 + 0.5 * len(servers)), sharex=True, sharey=True, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for panel, size in zip(panels.flat, of_sizes, strict=True):
        _panel(panel, [each for each in found if each.cell.file_size == size], servers)
    panels[0][0].set_yticks(range(len(servers)), servers)
    panels[0][0].set_ylim(len(servers) - 0.5, -0.5)
    handles = {
        label: handle for panel in panels.flat for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize="small", frameon=False
    )
    head(figure, _finding(found), "")
    for panel, size in zip(panels.flat, of_sizes, strict=True):
        cell = next(each.cell for each in found if each.cell.file_size == size)
        panel.set_title(cell.files_in_words, fontsize="medium", loc="left", color=MODEL)
    save(figure, folder / "waits")


def _panel(panel: Axes, found: Sequence[CellResult], servers: Sequence[str]) -> None:
    for removal, marker in _MARKERS.items():
        cells = [each for each in found if each.cell.removal is removal]
        if not cells:
            continue
        rows = [servers.index(each.label) for each in cells]
        label = _LABELS[removal]
        panel.plot(
            [MILLISECONDS * each.wait_without for each in cells], [row - _APART for row in rows], linestyle="",
            marker=marker, markersize=7, color=MODEL, markerfacecolor="white", label=f"before, {label}",
        )  # fmt: skip
        panel.plot(
            [MILLISECONDS * each.wait_with for each in cells], [row + _APART for row in rows], linestyle="",
            marker=marker, markersize=7, color=MEASURED, label=f"with, {label}",
        )  # fmt: skip
    panel.axvline(_LONG_MS, color=LIMIT, linestyle="--", linewidth=1)
    panel.set_xscale("log")
    panel.set_xlabel("longest wait of a statement, ms", fontsize="small")
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=True, axis="x", color="#DDDDDD", linewidth=0.5)
    panel.set_axisbelow(True)


def _finding(found: Sequence[CellResult]) -> str:
    """What the picture shows: how the longest wait compares with that before, in the median of the cells and at the ends."""
    said = []
    for size in sizes(found):
        ratios = sorted(each.wait_with / max(each.wait_without, 1e-6) for each in found if each.cell.file_size == size)
        between = f" ({ratios[0]:.1f} to {ratios[-1]:.1f})" if len(ratios) > 1 else ""
        said.append(f"{statistics.median(ratios):.1f} times{between} with files of {format_size(size)}")
    return f"Longest wait while binary logs are removed, against that before: {', '.join(said)}"
