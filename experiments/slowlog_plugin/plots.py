"""The plot of the slow log plugin's experiment, as SVG and PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from redolab.report.labels import server_label
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save

from .arms import Arm, Place
from .table import CostRow, finding

_COLOURS = (MEASURED, LIMIT, "#000000")
_MARKERS = ("o", "s", "^")
_APART = 0.22
_NAMES = {
    Arm.BUILT_IN: "built-in log",
    Arm.PLUGIN: "plugin",
    Arm.BUFFERED: "plugin, buffered",
    Arm.TABLE: "mysql.slow_log",
    Arm.DIGESTS: "digests",
}


def plot_costs(folder: Path, rows: Sequence[CostRow]) -> None:
    """The throughput that ways of logging leave, a panel for each number of clients, a mark a server: `costs.svg`, `.png`.

    Files lie on a disk, where they were measured there; those on tmpfs are in the table alone.
    """
    servers = list(dict.fromkeys(row.server for row in rows))
    clients = sorted({row.connections for row in rows})
    place = Place.DISK if any(row.place is Place.DISK for row in rows) else Place.TMPFS
    shown = [
        row for row in rows if row.arm in _NAMES and row.change is not None and row.place in {place, Place.NOWHERE}
    ]
    figure, panels = plt.subplots(
        1, len(clients), figsize=(WIDTH, 3.4), sharex=True, sharey=True, layout="constrained", squeeze=False
    )  # fmt: skip
    for panel, each in zip(panels.flat, clients, strict=True):
        _panel(panel, [row for row in shown if row.connections == each], servers)
        panel.set_xlabel("throughput left, % (95 % interval)", fontsize="small")
    panels[0][0].set_xlim(left=0)
    head(figure, finding(rows).partition(". ")[0], "")
    for panel, each in zip(panels.flat, clients, strict=True):
        panel.set_title(f"{each} client{'s' * (each != 1)}", fontsize="medium", loc="left")
    handles = {
        label: handle for panel in panels.flat for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize="small", frameon=False
    )
    save(figure, folder / "costs")


def _panel(panel: Axes, rows: Sequence[CostRow], servers: Sequence[str]) -> None:
    ways = list(_NAMES)
    for number, server in enumerate(servers):
        found = [row for row in rows if row.server == server]
        for row in found:
            assert row.change is not None
            left, low, high = (100 * (1 + value) for value in (row.change.change, row.change.low, row.change.high))
            panel.errorbar(
                [left], [ways.index(row.arm) + _APART * (number - (len(servers) - 1) / 2)],
                xerr=[[0.0], [0.0]] if math.isnan(low) else [[max(0.0, left - low)], [max(0.0, high - left)]],
                linestyle="", marker=_MARKERS[number % len(_MARKERS)], markersize=5, capsize=2,
                color=_COLOURS[number % len(_COLOURS)], label=server_label(row.server, row.version),
            )  # fmt: skip
    panel.axvline(100, color=MODEL, linewidth=0.8)
    panel.set_yticks(range(len(ways)), list(_NAMES.values()))
    panel.tick_params(axis="y", length=0, labelsize="small")
    panel.set_ylim(len(ways) - 0.4, -0.6)
    panel.grid(visible=True, axis="x", color="#DDDDDD", linewidth=0.5)
    panel.set_axisbelow(True)
