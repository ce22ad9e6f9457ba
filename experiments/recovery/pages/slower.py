"""How many times as long a recovery takes on a storage as at home, cell by cell, and the picture of it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from redolab.report.labels import server_label
from redolab.report.plots import LIMIT, MODEL, WIDTH, head, plt, save
from redolab.results.marks import MARK
from redolab.storage.profiles import HOME
from redolab.units import format_size

from ..rows import RecoveryRow

_MARKERS = "osD^vP*X"
_TICKS = (1, 2, 5, 10, 20, 50, 100)
_FEW_POOLS = 2
_BAR, _MARKED_BAR = "#8FB8DA", "#E3E3E3"
"""Of a disk that is as it was asked for, and of one that is not."""
_NOT_AS_ASKED = f"{MARK} not as fast or slow as asked for"


@dataclass(frozen=True, slots=True)
class CellRatio:
    """One server, log and pool: how many times as long it took on a storage as at home. Sizes in bytes."""

    server: str
    version: str
    log_size: int
    pool: int
    times: float


def ratios_on(rows: Sequence[RecoveryRow], storage: str) -> list[CellRatio]:
    """Those of every cell that was measured on this storage and at home; none of home itself."""
    at_home = {
        (row.server, row.log_size_bytes, row.buffer_pool_bytes): row.ready_median_s
        for row in rows
        if row.storage == HOME and row.ready_median_s
    }
    return [
        CellRatio(row.server, row.version, row.log_size_bytes, row.buffer_pool_bytes, row.ready_median_s / home)
        for row in rows
        if row.storage == storage != HOME and row.ready_median_s
        if (home := at_home.get((row.server, row.log_size_bytes, row.buffer_pool_bytes)))
    ]


def plot_slower(folder: Path, storages: Mapping[str, Sequence[CellRatio]], marked: Sequence[str], title: str) -> None:
    """A bar a storage to the median of its cells, and a point each cell, filled with the largest pool: `slower.svg`, `.png`.

    `marked`: storages that were not as they were asked for.
    """
    figure, axes = plt.subplots(figsize=(WIDTH, 1.5 + 0.46 * len(storages)), layout="constrained")
    servers = sorted({server_label(each.server, each.version) for cells in storages.values() for each in cells})
    pools = sorted({each.pool for cells in storages.values() for each in cells})
    several_logs = len({each.log_size for cells in storages.values() for each in cells}) > 1
    names = [f"{storage}{MARK * (storage in marked)}" for storage in storages]
    for place, (storage, cells) in enumerate(storages.items()):
        median = statistics.median(each.times for each in cells)
        is_marked = storage in marked
        axes.barh(
            place, median - 1, left=1, height=0.6, color=_MARKED_BAR if is_marked else _BAR,
            label=_NOT_AS_ASKED if is_marked and _NOT_AS_ASKED not in _labelled(axes) else None,
        )  # fmt: skip
        for number, server in enumerate(servers):
            for pool in pools:
                own = [
                    each.times
                    for each in cells
                    if server_label(each.server, each.version) == server and each.pool == pool
                ]
                label = f"{server}, pool {format_size(pool)}" if len(pools) <= _FEW_POOLS else server
                axes.plot(
                    own, [place] * len(own), _MARKERS[number % len(_MARKERS)], color="black",
                    markerfacecolor="black" if pool == pools[-1] and len(pools) > 1 else "none", markersize=4.5,
                    markeredgewidth=0.8, label=label if own and label not in _labelled(axes) else None,
                )  # fmt: skip
        axes.annotate(
            f"{median:.1f} ×", (max(median, *(each.times for each in cells)), place), xytext=(9, 0),
            textcoords="offset points", va="center", fontweight="bold",
        )  # fmt: skip
        if several_logs:
            axes.annotate(
                _logs(cells), (1, place), xycoords=("axes fraction", "data"), va="center", ha="right", fontsize="small",
                color=MODEL,
            )  # fmt: skip
    axes.axvline(1, color=LIMIT, linewidth=1)
    most = max(each.times for cells in storages.values() for each in cells)
    axes.set_xscale("log")
    axes.set_xlim(0.95 * min(each.times for cells in storages.values() for each in cells), 3.2 * most)
    axes.set_xticks([tick for tick in _TICKS if tick <= most], [f"{tick} ×" for tick in _TICKS if tick <= most])
    axes.minorticks_off()
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(f"time to ready / time to ready on {HOME}; bar: median, points: each server, log and pool")
    head(figure, title, "")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    save(figure, folder / "slower")


def _labelled(axes: Axes) -> list[str]:
    return list(axes.get_legend_handles_labels()[1])


def _logs(cells: Sequence[CellRatio]) -> str:
    """As in `logs of 256M to 8G`."""
    sizes = sorted({each.log_size for each in cells})
    least, most = format_size(sizes[0]), format_size(sizes[-1])
    return f"log {least}" if least == most else f"logs {least} to {most}"
