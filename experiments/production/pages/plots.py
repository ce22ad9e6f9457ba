"""Predictions of recoveries after crashes at random moments, beside what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from redolab.report.labels import server_label
from redolab.report.plots import LIMIT, MEASURED, MODEL, head, plt, save
from redolab.sizing.judging import JudgedRecovery

_TICKS = (0.3, 1, 3, 10, 30, 100, 300)
_COLOURS = (MEASURED, LIMIT, "#009E73", "#CC79A7")
_MARKS = "os^vDPX*"
_IN_A_ROW = 3
"""Panels: more are too small to read."""


def plot_predictions(folder: Path, panels: Sequence[tuple[str, Sequence[JudgedRecovery]]]) -> None:
    """Measured over predicted, with the upper end of each prediction, a panel for each run: `predictions.svg`, `.png`."""
    rows = math.ceil(len(panels) / _IN_A_ROW)
    in_a_row = math.ceil(len(panels) / rows)
    figure, grid = plt.subplots(
        nrows=rows, ncols=in_a_row, sharex=True, sharey=True, squeeze=False, layout="constrained",
        figsize=(4.2 * in_a_row + 0.8, 4.0 * rows + 0.8),
    )  # fmt: skip
    for unused in grid.flat[len(panels) :]:
        unused.set_axis_off()
    known = [each for _, of_run in panels for each in of_run if each.predicted is not None and each.ready is not None]
    storages = list(dict.fromkeys(each.keyed.trial.storage for each in known))
    loads = list(dict.fromkeys(_load(each) for each in known))
    least = min(min(each.predicted.seconds, each.ready) for each in known if each.predicted and each.ready) / 1.4
    most = max(max(each.predicted.ninety[1], each.ready) for each in known if each.predicted and each.ready) * 1.2
    for axes, (title, of_run) in zip(grid.flat, panels, strict=False):
        for each in of_run:
            if each.predicted is None or each.ready is None:
                continue
            colour = _COLOURS[storages.index(each.keyed.trial.storage) % len(_COLOURS)]
            axes.plot(
                [each.predicted.seconds, each.predicted.ninety[1]], [each.ready] * 2, color=colour, alpha=0.25,
                linewidth=1,
            )  # fmt: skip
            axes.plot(
                [each.predicted.seconds], [each.ready], _MARKS[loads.index(_load(each)) % len(_MARKS)], color=colour,
                markersize=5, alpha=0.8,
            )  # fmt: skip
        axes.plot([least, most], [least, most], color="black", linewidth=1)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(least, most)
        axes.set_ylim(least, most)
        ticks = [tick for tick in _TICKS if least <= tick <= most]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("predicted before, s (line: to the upper end)")
        axes.set_title(title, fontsize="medium", loc="left", color=MODEL)
        axes.text(
            0.03, 0.97, "above: took longer\nthan predicted", transform=axes.transAxes, va="top", fontsize="small"
        )
    for first, *_ in grid:
        first.set_ylabel("measured, s")
    for place, storage in enumerate(storages):
        grid[0][0].plot([], [], "o", color=_COLOURS[place % len(_COLOURS)], label=f"on {storage}")
    for place, load in enumerate(loads):
        grid[0][0].plot([], [], _MARKS[place % len(_MARKS)], color="grey", label=load)
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    above = sum(each.is_above for each in known)
    in_panels = {title: sum(each.is_above for each in of_run if each.ready is not None) for title, of_run in panels}
    title = max(in_panels, key=lambda each: in_panels[each])
    head(
        figure,
        f"{above} of {len(known)} recoveries took longer than their upper end, {in_panels[title]} of them in one run ({title})",
        "",
    )
    save(figure, folder / "predictions")


def _load(each: JudgedRecovery) -> str:
    trial = each.keyed.trial
    return f"{server_label(trial.server, trial.version.split('-')[0])}, {each.keyed.image.spec.workload}"
