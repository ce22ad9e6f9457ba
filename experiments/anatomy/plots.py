"""The picture of the anatomy: what each level adds, a panel a server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save

from .cases import BASELINE
from .effects import FactorEffect


def plot_effects(folder: Path, effects: Sequence[FactorEffect], title: str, stem: str = "effects") -> None:
    """Bars of the seconds added, with their intervals, the phase that they hit behind them: `STEM.svg`, `.png`."""
    labels = list(dict.fromkeys(each.label for each in effects))
    rows = list(dict.fromkeys((each.factor, each.level) for each in effects if each.factor != BASELINE))
    if not rows:
        return
    figure, panels = plt.subplots(
        ncols=len(labels), sharey=True, squeeze=False,
        figsize=(WIDTH * (0.45 + 0.55 * len(labels)), 1.6 + 0.3 * len(rows)), layout="constrained",
    )  # fmt: skip
    for axes, label in zip(panels[0], labels, strict=True):
        own = {(each.factor, each.level): each for each in effects if each.label == label}
        base = own[BASELINE, BASELINE]
        for place, row in enumerate(rows):
            if (each := own.get(row)) is None:
                axes.text(0, place, " not possible here", va="center", fontsize="x-small", color=MODEL)
                continue
            if not each.n:
                axes.text(0, place, " never ready", va="center", fontsize="x-small", color=LIMIT)
                continue
            axes.barh(place, each.added, color=MEASURED if each.excludes_zero else "#CCCCCC", height=0.65)
            axes.plot([each.low, each.high], [place, place], color="black", linewidth=1)
            edge = max(each.added, each.high, 0.0)
            axes.text(edge, place, f" {each.added:+.1f} s {each.phase}", va="center", fontsize="x-small")
        axes.axvline(0, color="black", linewidth=1)
        axes.set_xlabel(f"seconds added to {base.ready:.1f} s")
        axes.margins(x=0.25)
        axes.set_title(label, fontsize="medium", loc="left")
    first = panels[0][0]
    first.set_yticks(range(len(rows)), [f"{factor}: {level}" for factor, level in rows], fontsize="small")
    first.invert_yaxis()
    head(figure, title, "")
    save(figure, folder / stem)
