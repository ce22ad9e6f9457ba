"""The plot of the slow log plugin's experiment, as SVG and PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from redolab.report.labels import server_label
from redolab.report.plots import WIDTH, plt, save

from .table import CostRow

_MARKERS = "osD^v<>pPX"
_APART = 0.8


def plot_costs(folder: Path, rows: Sequence[CostRow]) -> None:
    """The throughput that each way of logging leaves, against the clients, a panel a server: `costs.svg`, `.png`."""
    servers = list(dict.fromkeys(row.server for row in rows))
    ways = list(dict.fromkeys(row.way for row in rows if row.change is not None))
    clients = sorted({row.connections for row in rows})
    figure, panels = plt.subplots(
        1, len(servers), figsize=(WIDTH, 3.6), sharey=True, layout="constrained", squeeze=False
    )  # fmt: skip
    for panel, server in zip(panels.flat, servers, strict=True):
        for number, way in enumerate(ways):
            found = [row for row in rows if row.server == server and row.way == way and row.change is not None]
            shift = _APART * ((number + 0.5) / len(ways) - 0.5)
            left = [100 * (1 + row.change.change) for row in found if row.change]
            reach = [
                [100 * _known(row.change.change - row.change.low) for row in found if row.change],
                [100 * _known(row.change.high - row.change.change) for row in found if row.change],
            ]
            panel.errorbar(
                [clients.index(row.connections) + shift for row in found], left, reach,
                linestyle="", marker=_MARKERS[number % len(_MARKERS)], markersize=4, linewidth=1, label=way,
            )  # fmt: skip
        panel.axhline(100, color="#999999", linewidth=0.8)
        panel.set_xticks(range(len(clients)), [str(each) for each in clients])
        panel.set_ylim(bottom=0)
        panel.grid(visible=True, axis="y", color="#DDDDDD", linewidth=0.5)
        panel.set_axisbelow(True)
        version = next(row.version for row in rows if row.server == server)
        panel.set_title(server_label(server, version), fontsize="medium", loc="left")
        panel.set_xlabel("clients")
    panels[0][0].set_ylabel("throughput, %")
    figure.suptitle(
        "What is left of the throughput when every statement is logged", fontsize="large", x=0.01, ha="left"
    )
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small", frameon=False)
    save(figure, folder / "costs")


def _known(reach: float) -> float:
    """The reach of an interval; none where nothing tells it."""
    return 0.0 if math.isnan(reach) else max(0.0, reach)
