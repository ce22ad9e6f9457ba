"""How far back power cuts lose what was acknowledged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redolab.report.labels import server_label
from redolab.report.plots import LIMIT, MEASURED, WIDTH, head, plt, save

from .cells import PLAIN, VARIATIONS
from .promises import promise_of
from .results import CellResult

_A_SECOND = 1.0


def plot_lost(folder: Path, cells: Sequence[CellResult]) -> None:
    """A row of points for each cell, a point each state that lost something; the manuals' second as a line: `lost.svg`, `.png`."""
    # What is varied beside the settings is shown where it lost something; a replica that reads along is no other way to lose it.
    shown = [
        each
        for each in cells
        if not (VARIATIONS[each.cell.variation].must_lose or VARIATIONS[each.cell.variation].replica)
        and (each.cell.variation == PLAIN or each.seconds_back)
    ]
    figure, axes = plt.subplots(figsize=(WIDTH, 0.34 * len(shown) + 1.6), layout="constrained")
    for place, each in enumerate(reversed(shown)):
        back = each.seconds_back
        axes.plot(back, [place] * len(back), "|", color=MEASURED, markersize=11, alpha=0.6)
        if not back:
            axes.text(0.01, place, "none lost", va="center", fontsize="small", color="#666666")
    labels = [
        f"{server_label(each.cell.server, each.version.split('-')[0])}, {each.cell.in_words}"
        for each in reversed(shown)
    ]
    axes.set_yticks(range(len(shown)), labels, fontsize="small")
    axes.axvline(_A_SECOND, color=LIMIT, linestyle="--", linewidth=1)
    axes.annotate(
        "a second",
        (_A_SECOND, len(shown) - 0.4),
        xytext=(3, 0),
        textcoords="offset points",
        color=LIMIT,
        fontsize="small",
    )
    axes.set_xlim(left=0)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.set_xlabel("seconds taken back, a mark each state that lost some")
    most = max((second for each in shown for second in each.seconds_back), default=0.0)
    kept = all(not each.seconds_back for each in shown if promise_of(each.cell) is not None)
    beside = "; under settings that promise every commit, nothing" if kept else ""
    head(figure, f"A power cut took back what was acknowledged up to {most:.1f} s before{beside}", "")
    save(figure, folder / "lost")
