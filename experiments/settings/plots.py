"""The picture of the settings: the effect of each with its interval, as SVG and PNG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from redolab.models.intervals import Ratio
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save, wrapped

from .changes import TPCC
from .effects import SettingEffect

_MUCH = 1.5
"""Largest change on the axis: a larger one is drawn there, with an arrow and its figure."""
_LETTERS = 68
"""Characters of a panel's title in a line."""


def plot_effects(folder: Path, servers: Mapping[str, Sequence[SettingEffect]], title: str) -> None:
    """Plot effects on throughput and on recovery, a row a level, a panel a server, by its name: `effects.svg`, `.png`.

    Levels without a measurable effect are named below their panel, if any has one.
    """
    shown = {label: [each for each in found if _is_resolved(each)] or found for label, found in servers.items()}
    levels = sum(len(of_server) for of_server in shown.values())
    figure, panels = plt.subplots(
        len(shown), 1, figsize=(WIDTH, 1.4 + 0.34 * levels + 0.8 * len(shown)), layout="constrained", squeeze=False,
        sharex=True, height_ratios=[len(of_server) + 1 for of_server in shown.values()],
    )  # fmt: skip
    for panel, of_server in zip(panels.flat, shown.values(), strict=True):
        _panel(panel, of_server)
    panels[-1][0].set_xlabel("change against the baseline, 95 % interval; hollow: may be chance")
    found_labels = [zip(*panel.get_legend_handles_labels(), strict=True) for panel in panels.flat]
    handles = {label: handle for of_panel in found_labels for handle, label in of_panel}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=2, fontsize="small", frameon=False
    )
    head(figure, title, "")
    for panel, (label, found) in zip(panels.flat, servers.items(), strict=True):
        left_out = [f"{each.setting}={each.level.partition(',')[0]}" for each in found if each not in shown[label]]
        beside = f"; no measurable effect: {', '.join(left_out)}" if left_out else ""
        panel.set_title("\n".join(wrapped(label + beside, _LETTERS)), fontsize="small", loc="left", color=MODEL)
    save(figure, folder / "effects")


def _is_resolved(each: SettingEffect) -> bool:
    """Return True if its effect on throughput or on recovery is significant."""
    return each.throughput_stands or each.recovery_stands


def _panel(panel: Axes, found: Sequence[SettingEffect]) -> None:
    throughput = [(each.throughput, each.throughput_stands) for each in found]
    recovery = [(each.recovery, each.recovery_stands) for each in found]
    kinds = (
        ("throughput", throughput, MEASURED, "o", -0.14),
        ("time to ready after a crash", recovery, LIMIT, "s", 0.14),
    )
    for name, ratios, colour, marker, shift in kinds:
        points = [(place, ratio, stands) for place, (ratio, stands) in enumerate(ratios) if ratio is not None]
        for place, ratio, stands in points:
            panel.errorbar(
                [min(ratio.change, _MUCH)], [place + shift], xerr=[[_reach(ratio, ratio.low)], [_reach(ratio, ratio.high)]],
                linestyle="", marker=marker, markersize=4.5, color=colour, capsize=2,
                markerfacecolor=colour if stands else "white", label=name if place == points[0][0] else None,
            )  # fmt: skip
            if ratio.change > _MUCH:
                panel.annotate(
                    f"{ratio.change:+.0%} →", (_MUCH, place + shift), xytext=(-6, 0), textcoords="offset points", ha="right",
                    va="center", fontsize="x-small", color=colour,
                )  # fmt: skip
    panel.axvline(0, color=MODEL, linewidth=0.8)
    panel.set_yticks(range(len(found)), [_level(each) for each in found])
    panel.tick_params(axis="y", length=0, labelsize="small")
    panel.set_ylim(len(found) - 0.4, -0.6)
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:+.0%}" if value else "0")
    panel.grid(visible=True, axis="x", color="#DDDDDD", linewidth=0.5)
    panel.set_axisbelow(True)


def _level(each: SettingEffect) -> str:
    """Return words as in `log_bin: off → on`, with the load if it is not TPC-C."""
    load = "" if each.load == TPCC else f"\n({each.load.replace('-', ' ')})"
    return f"{each.setting}: {each.baseline} → {each.level.partition(',')[0]}{load}"


def _reach(ratio: Ratio, end: float) -> float:
    if math.isnan(end) or ratio.change > _MUCH:
        return 0.0
    return abs(min(end, _MUCH) - ratio.change)
