"""The picture of the anatomy: what each level adds to the baseline, a panel a server, all on one scale."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save

from .cases import BASELINE
from .effects import FactorEffect

_LETTERS = 40
"""Of a level's name in a line."""
_RESOLVED, _UNRESOLVED = MEASURED, "#CCCCCC"
_ROOM = 0.55
"""Of the scale, beyond the longest bar: for the figures at the bars."""


def plot_effects(folder: Path, effects: Sequence[FactorEffect], title: str, stem: str = "effects") -> None:
    """Bars of what each level adds to its server's baseline, with 95 % intervals: `STEM.svg`, `.png`.

    Without the levels whose interval has 0 in it on every server; the longest bar comes first.
    """
    labels = list(dict.fromkeys(each.label for each in effects))
    levels = [each for each in effects if each.factor != BASELINE]
    shown = {(each.factor, each.level) for each in levels if each.excludes_zero or not each.n}
    if not levels:
        return
    rows = sorted(shown or {(each.factor, each.level) for each in levels}, key=lambda row: -_most(levels, row))
    figure, panels = plt.subplots(
        ncols=len(labels), sharex=True, sharey=True, squeeze=False,
        figsize=(max(WIDTH, 2.4 + 2.6 * len(labels)), 1.7 + 0.36 * len(rows)), layout="constrained",
    )  # fmt: skip
    for axes, label in zip(panels[0], labels, strict=True):
        own = {(each.factor, each.level): each for each in effects if each.label == label}
        for place, row in enumerate(rows):
            _draw_level(axes, place, own.get(row))
        base = own[BASELINE, BASELINE]
        axes.axvline(0, color="black", linewidth=1)
        axes.set_title(f"{label}: {base.ready:.1f} s", fontsize="medium", loc="left")
    first = panels[0][0]
    drawn = [each for each in levels if (each.factor, each.level) in rows and each.n]
    ends = [end / each.base for each in drawn for end in (each.low, each.high, each.added) if not math.isnan(end)]
    least, most = min([0.0, *ends]), max([0.0, *ends])
    first.set_xlim(1.05 * least, most + _ROOM * (most - least))
    first.xaxis.set_major_formatter(lambda value, _: f"{value:+.0%}" if value else "0")
    first.set_yticks(range(len(rows)), [textwrap.fill(f"{factor}: {level}", _LETTERS) for factor, level in rows])
    first.tick_params(axis="y", length=0, labelsize="small")
    first.set_ylim(len(rows) - 0.4, -0.6)
    figure.supxlabel(_axis_label(levels, rows), fontsize="small")
    head(figure, title, "")
    for axes, label in zip(panels[0], labels, strict=True):
        base = next(each for each in effects if each.label == label and each.factor == BASELINE)
        axes.set_title(f"{label}, baseline {base.ready:.1f} s", fontsize="small", loc="left", color=MODEL)
    save(figure, folder / stem)


def _axis_label(levels: Sequence[FactorEffect], rows: Sequence[tuple[str, str]]) -> str:
    left_out = len({(each.factor, each.level) for each in levels}) - len(rows)
    said = "time to ready against the baseline, 95 % interval; grey: the interval includes 0"
    return said + (f"; not shown: {left_out} levels that are grey on every server" if left_out else "")


def _most(levels: Sequence[FactorEffect], row: tuple[str, str]) -> float:
    """The largest share that a level adds on any server, of those that are resolved; one that was never ready adds more."""
    own = [each for each in levels if (each.factor, each.level) == row]
    if any(not each.n for each in own):
        return math.inf
    resolved = [each for each in own if each.excludes_zero] or own
    return max(each.added / each.base for each in resolved)


def _draw_level(axes: Axes, place: int, each: FactorEffect | None) -> None:
    """The bar of a level, with its interval and the seconds that it adds, and to which phase."""
    if each is None:
        axes.text(0, place, "  not possible here", va="center", fontsize="x-small", color=MODEL)
        return
    if not each.n:
        axes.text(0, place, "  never ready", va="center", fontsize="small", color=LIMIT)
        return
    axes.barh(place, each.added / each.base, color=_RESOLVED if each.excludes_zero else _UNRESOLVED, height=0.62)
    if not math.isnan(each.low):
        axes.plot([each.low / each.base, each.high / each.base], [place, place], color="black", linewidth=1)
    edge = max(value for value in (each.added, each.high, 0.0) if not math.isnan(value)) / each.base
    if each.excludes_zero:
        axes.annotate(
            f"{each.added:+.1f} s {each.phase}", (edge, place), xytext=(4, 0), textcoords="offset points", va="center",
            fontsize="small",
        )  # fmt: skip
