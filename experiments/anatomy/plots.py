"""The picture of the anatomy: each level's time as a multiple of the baseline, a panel a server, on one log scale."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save

from .cases import BASELINE, CHANGE_BUFFER
from .effects import FactorEffect

_LETTERS = 40
"""Characters of a level's name in a line."""
_LETTERS_BELOW = 100
"""Characters of the axis label in a line."""
_RESOLVED, _UNRESOLVED = MEASURED, "#CCCCCC"
_ROOM = 0.55
"""Share of the scale beyond the longest bar, for the figures at the bars."""
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)


def plot_effects(folder: Path, effects: Sequence[FactorEffect], title: str, stem: str = "effects") -> None:
    """Plot each level's time as a multiple of its server's baseline, with 95 % intervals: `STEM.svg`, `.png`.

    Levels that are significant on no server (`FactorEffect.stands`) are left out; the longest bar comes first.
    """
    labels = list(dict.fromkeys(each.label for each in effects))
    levels = [each for each in effects if each.factor != BASELINE]
    shown = {(each.factor, each.level) for each in levels if each.stands or not each.n}
    if not levels:
        return
    rows = sorted(shown or {(each.factor, each.level) for each in levels}, key=lambda row: (-_most(levels, row), row))
    figure, panels = plt.subplots(
        ncols=len(labels), sharex=True, sharey=True, squeeze=False,
        figsize=(max(WIDTH, 2.4 + 2.6 * len(labels)), 1.7 + 0.36 * len(rows)), layout="constrained",
    )  # fmt: skip
    for axes, label in zip(panels[0], labels, strict=True):
        own = {(each.factor, each.level): each for each in effects if each.label == label}
        for place, row in enumerate(rows):
            _draw_level(axes, place, own.get(row))
        base = own[BASELINE, BASELINE]
        axes.axvline(1, color="black", linewidth=1)
        axes.set_title(f"{label}: {base.ready:.1f} s", fontsize="medium", loc="left")
    first = panels[0][0]
    drawn = [each for each in levels if (each.factor, each.level) in rows and each.n]
    ends = [end for each in drawn for end in _ends(each)]
    least, most = min([1.0, *ends]), max([1.0, *ends])
    first.set_xscale("log")
    first.set_xlim(least / 1.1, most * (most / least) ** _ROOM)
    ticks = [tick for tick in _TICKS if least <= tick <= most]
    first.set_xticks(ticks, [f"×{tick:g}" for tick in ticks])
    first.minorticks_off()
    first.set_yticks(range(len(rows)), [textwrap.fill(_row(*row), _LETTERS) for row in rows])
    first.tick_params(axis="y", length=0, labelsize="small")
    first.set_ylim(len(rows) - 0.4, -0.6)
    figure.supxlabel(textwrap.fill(_axis_label(levels, rows), _LETTERS_BELOW), fontsize="small")
    head(figure, title, "")
    for axes, label in zip(panels[0], labels, strict=True):
        base = next(each for each in effects if each.label == label and each.factor == BASELINE)
        axes.set_title(f"{label}, baseline {base.ready:.1f} s", fontsize="small", loc="left", color=MODEL)
    save(figure, folder / stem)


def _row(factor: str, level: str) -> str:
    """Return the label of a level; levels of the change buffer differ from the baseline in more than the buffer."""
    if factor != CHANGE_BUFFER:
        return f"{factor}: {level}"
    buffered, _, rest = level.partition(" (")
    return f"{rest.rstrip(')')}: {factor} {buffered}"


def _axis_label(levels: Sequence[FactorEffect], rows: Sequence[tuple[str, str]]) -> str:
    left_out = len({(each.factor, each.level) for each in levels}) - len(rows)
    said = "time to ready, times the baseline's, with the 95 % interval; grey: may be chance among so many levels"
    return said + (f"; not shown: {left_out} levels that are grey on every server" if left_out else "")


def _most(levels: Sequence[FactorEffect], row: tuple[str, str]) -> float:
    """Return the largest significant share that a level adds on any server; one that was never ready adds more."""
    own = [each for each in levels if (each.factor, each.level) == row]
    if any(not each.n for each in own):
        return math.inf
    return max(each.ratio.change for each in [each for each in own if each.stands] or own)


def _draw_level(axes: Axes, place: int, each: FactorEffect | None) -> None:
    """Draw the bar of a level with its interval, the seconds it adds, and their phase."""
    if each is None:
        axes.text(1, place, "  not possible here", va="center", fontsize="x-small", color=MODEL)
        return
    if not each.n:
        axes.text(1, place, "  never ready", va="center", fontsize="small", color=LIMIT)
        return
    axes.barh(place, each.ratio.change, left=1, color=_RESOLVED if each.stands else _UNRESOLVED, height=0.62)
    if not math.isnan(each.ratio.low):
        axes.plot([1 + each.ratio.low, 1 + each.ratio.high], [place, place], color="black", linewidth=1)
    if each.stands:
        axes.annotate(
            f"{each.added:+.1f} s {each.phase}", (max(1.0, *_ends(each)), place), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize="small",
        )  # fmt: skip


def _ends(each: FactorEffect) -> list[float]:
    """Return the ends of its bar and its interval, as multiples of the baseline."""
    return [1 + end for end in (each.ratio.change, each.ratio.low, each.ratio.high) if not math.isnan(end)]
