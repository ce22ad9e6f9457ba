"""The picture of what logging costs: each log's share of the throughput without one, with its interval, as SVG and PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from redolab.report.labels import server_label
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save
from redolab.units import format_size

from .effects import Compared, LogEffect
from .published import PublishedRatio


def plot_costs(folder: Path, found: Sequence[LogEffect], published: Sequence[PublishedRatio], title: str) -> None:
    """A panel a cell, a row a log, the costliest below; what was published as hollow diamonds: `costs.svg`, `.png`."""
    keys = list(dict.fromkeys(each.key for each in found if each.throughput is not None))
    cells = [sorted(_compared(found, key), key=_change) for key in keys]
    figure, panels = plt.subplots(
        len(cells), 1, figsize=(WIDTH, 1.5 + sum(0.55 + 0.27 * len(each) for each in cells)), layout="constrained",
        squeeze=False, sharex=True, height_ratios=[len(each) + 1 for each in cells],
    )  # fmt: skip
    for panel, effects in zip(panels.flat, cells, strict=True):
        _panel(panel, effects, published)
    panels[-1][0].set_xlabel("NOTPM as a share of NOTPM without a log (95 % interval)")
    handles = {
        label: handle for panel in panels.flat for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=2, fontsize="small", frameon=False
    )
    head(figure, title, "")
    for panel, key in zip(panels.flat, keys, strict=True):
        panel.set_title(_label(key), fontsize="small", loc="left", color=MODEL)
    save(figure, folder / "costs")


def _compared(found: Sequence[LogEffect], key: Compared) -> list[LogEffect]:
    return [each for each in found if each.key == key and each.throughput is not None]


def _change(each: LogEffect) -> float:
    assert each.throughput is not None
    return -each.throughput.change


def _panel(panel: Axes, effects: Sequence[LogEffect], published: Sequence[PublishedRatio]) -> None:
    for place, each in enumerate(effects):
        assert each.throughput is not None
        at, low, high = (1 + value for value in (each.throughput.change, each.throughput.low, each.throughput.high))
        reach = [[0.0], [0.0]] if math.isnan(low) else [[at - low], [high - at]]
        panel.errorbar(
            [at], [place], xerr=reach, linestyle="", marker="o", markersize=5, color=MEASURED, capsize=2,
            label="measured here" if place == 0 else None,
        )  # fmt: skip
        known = [other.ratio for other in published if other.is_like(each)]
        if known:
            panel.plot(
                known, [place + 0.24] * len(known), linestyle="", marker="D", markersize=5, color=LIMIT,
                markerfacecolor="white", label="A. Kuzminsky, 2009, MySQL 5.0",
            )  # fmt: skip
    panel.axvline(1, color=MODEL, linewidth=0.8)
    panel.set_yticks(range(len(effects)), [each.log for each in effects])
    panel.tick_params(axis="y", length=0, labelsize="small")
    panel.set_ylim(len(effects) - 0.4, -0.6)
    panel.grid(visible=True, axis="x", color="#DDDDDD", linewidth=0.5)
    panel.set_axisbelow(True)


def _label(key: Compared) -> str:
    clients = f"{key.cell.connections} client{'s' * (key.cell.connections != 1)}"
    return f"{server_label(key.cell.server, key.version)}, {clients}, pool {format_size(key.cell.pool)}"
