"""Plot of a load's quantity before and during an operation on the server."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from redolab.report.contents import Plot
from redolab.report.quantities import quantities_of
from redolab.runs.default_report import Configuration

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def paired_plots(
    name: str, measured: Sequence[Configuration], pair: tuple[str, str], panels: str, rows: Sequence[str], title: str
) -> list[Plot]:
    """Return the plot of a pair of quantities, before and during the operation; none if nothing was measured.

    Each value of the factor `panels` has a panel, each combination of the factors `rows` a row in it.
    """
    draw = partial(_draw, measured=measured, pair=pair, panels=panels, rows=rows, title=title)
    return [Plot(name, draw)] if measured else []


def _draw(
    measured: Sequence[Configuration],
    pair: tuple[str, str],
    panels: str,
    rows: Sequence[str],
    title: str,
) -> Figure:
    from matplotlib.ticker import LogLocator

    from redolab.report.plots import MEASURED, MODEL, WIDTH, head, plt

    in_panels: dict[str, dict[str, list[Configuration]]] = {}
    for each in measured:
        in_panels.setdefault(each.factors[panels], {}).setdefault(_label(each, rows), []).append(each)
    sizes = [len(in_rows) for in_rows in in_panels.values()]
    figure, axes = plt.subplots(
        len(in_panels),
        1,
        sharex=True,
        squeeze=False,
        figsize=(WIDTH, sum(0.24 * size + 0.4 for size in sizes) + 1.2),
        height_ratios=[size + 1 for size in sizes],
        layout="constrained",
    )
    quantities = quantities_of(type(measured[0].results[0].trial))
    marks = ((pair[0], MODEL, 0.16), (pair[1], MEASURED, -0.16))
    for axis, (panel, in_rows) in zip(axes.flat, in_panels.items(), strict=True):
        for quantity, colour, shift in marks:
            for place, configurations in enumerate(in_rows.values()):
                values = [value for each in configurations for value in each.values(quantity)]
                at = place + shift
                axis.plot(values, [at] * len(values), "o", color=colour, markersize=4, alpha=0.55, markeredgewidth=0)
                axis.plot(statistics.median(values), at, "|", color=colour, markersize=9, markeredgewidth=2.2)
            axis.plot([], [], "o", color=colour, label=quantities[quantity].title)
        axis.set_yticks(range(len(in_rows)), in_rows, fontsize="small")
        axis.set_ylim(len(in_rows) - 0.4, -0.6)
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_major_formatter("{x:,g}")
        axis.minorticks_off()
        axis.grid(axis="x", color="#dddddd", linewidth=0.6)
        named = panel if panels == "server" else f"{panels} {panel}"
        axis.text(0.995, 1.0, named, transform=axis.transAxes, ha="right", va="bottom", fontweight="bold")
    axes.flat[-1].set_xlabel(f"{quantities[pair[1]].heading} (logarithmic)")
    legend = axes.flat[0].get_legend_handles_labels()
    figure.legend(*legend, loc="outside lower center", ncols=2, fontsize="small", frameon=False)
    head(figure, title.removesuffix("."), "a point each window, the bar their median")
    return figure


def _label(each: Configuration, rows: Sequence[str]) -> str:
    """Return a configuration's factors in words, as in `copytruncate, held, ext4`: a switch that is on by its name."""
    values = [(heading, each.factors[heading]) for heading in rows]
    return ", ".join(heading if value == "on" else value for heading, value in values if value != "off")
