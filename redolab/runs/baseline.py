"""Configurations compared with a baseline in the same blocks, as a column, a sentence and a plot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from redolab.grouping import by_key
from redolab.report.contents import Plot
from redolab.report.intervals import RelativeChange, relative_changes
from redolab.report.numbers import signed, signed_span
from redolab.report.table import Column
from redolab.runs.default_report import Configuration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_APART = 0.2
"""Distance of the marks of two servers in one row of a plot."""


def compared_with_baseline(
    measured: Sequence[Configuration], name: str, baseline: Mapping[str, str]
) -> list[Configuration]:
    """Return configurations with the change of a quantity from the baseline that shares all their other factors.

    `baseline`: factor → its value. Values are compared within blocks, so that a drift of the machine does not look
    like a change. The baseline has no change, nor has a configuration that shares no block with it.
    """
    cells: dict[tuple[str, ...], list[tuple[str, str, float]]] = {}
    for each in measured:
        values = [(result.block, _treatment(each, baseline), getattr(result.trial, name)) for result in each.results]
        cells.setdefault(_others(each, baseline), []).extend(values)
    none = ", ".join(filter(None, baseline.values()))
    changes: dict[tuple[str, ...], Mapping[str, RelativeChange]] = {
        cell: relative_changes(values, none) for cell, values in cells.items()
    }
    return [replace(each, change=changes[_others(each, baseline)].get(_treatment(each, baseline))) for each in measured]


def change_column(heading: str) -> Column[Configuration]:
    """Return the column of changes, as in `-8 % (-14 to -2)`."""
    return Column(heading, lambda row: row.change.with_interval() if row.change else "", right=True)


def changed_in_words(measured: Sequence[Configuration]) -> str:
    """Write all changes together, as in `-8 to -6 % (95 %: -14 to +1; significant in 1 of 2)`.

    At least one configuration must have a change. Without an interval for each, none is written.
    """
    changes = [each.change for each in measured if each.change is not None]
    between = signed_span([100 * each.change for each in changes], 0)
    if any(math.isnan(each.low) for each in changes):
        return f"{between} %"
    low, high = 100 * min(each.low for each in changes), 100 * max(each.high for each in changes)
    significant = sum(each.excludes_zero for each in changes)
    reach = f"95 %: {signed(low, 0)} to {signed(high, 0)}"
    return f"{between} % ({reach}; significant in {significant} of {len(changes)})"


def changes_plots(
    name: str, measured: Sequence[Configuration], baseline: Mapping[str, str], axis: str, title: str
) -> list[Plot]:
    """Return the plot of all changes with their intervals; none if nothing was compared.

    A treatment has a row, a server a colour, and each combination of the other factors a panel.
    """
    compared = [each for each in measured if each.change is not None]
    draw = partial(_draw_changes, compared=compared, baseline=baseline, axis=axis, title=title)
    return [Plot(name, draw)] if compared else []


def _draw_changes(compared: Sequence[Configuration], baseline: Mapping[str, str], axis: str, title: str) -> Figure:
    from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt

    treatments = list(dict.fromkeys(_treatment(each, baseline) for each in compared))
    servers = dict.fromkeys(each.factors["server"] for each in compared)
    varied = {name for each in compared for name in each.factors if len({of.factors.get(name) for of in compared}) > 1}
    others = varied - {"server", *baseline}
    panels = by_key(
        compared, lambda each: ", ".join(f"{name} {value}" for name, value in each.factors.items() if name in others)
    )
    height = 1.4 + len(panels) * (0.5 + 0.3 * len(treatments))
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(WIDTH, height), sharex=True, squeeze=False, layout="constrained"
    )
    for panel, own in zip(axes.flat, panels.values(), strict=True):
        for number, server in enumerate(servers):
            marks = [
                (treatments.index(_treatment(each, baseline)), each.change)
                for each in own
                if each.factors["server"] == server and each.change is not None
            ]
            panel.errorbar(
                [100 * change.change for _, change in marks],
                [place + _APART * (number - (len(servers) - 1) / 2) for place, _ in marks],
                xerr=[
                    [100 * (change.change - change.low) for _, change in marks],
                    [100 * (change.high - change.change) for _, change in marks],
                ],
                fmt="os^Dv"[number % 5],
                color=(MEASURED, LIMIT, "black")[number % 3],
                markersize=5,
                capsize=2,
                label=server,
            )
        panel.axvline(0, color=MODEL, linewidth=0.8)
        panel.set_yticks(range(len(treatments)), treatments)
        panel.set_ylim(len(treatments) - 0.5, -0.5)
        panel.grid(visible=True, axis="x", color="#DDDDDD", linewidth=0.5)
    axes.flat[-1].set_xlabel(f"{axis}, % (95 % interval)")
    figure.legend(
        *axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small", frameon=False
    )
    head(figure, title.removesuffix("."), "")
    for panel, heading in zip(axes.flat, panels, strict=True):
        panel.set_title(heading, fontsize="small", loc="left", color=MODEL)
    return figure


def _treatment(each: Configuration, baseline: Mapping[str, str]) -> str:
    """Return the values in which it differs from the baseline, as in `built-in, disk`."""
    return ", ".join(value for name, value in each.factors.items() if name in baseline and value)


def _others(each: Configuration, baseline: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(value for name, value in each.factors.items() if name not in baseline)
