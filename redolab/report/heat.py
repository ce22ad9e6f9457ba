"""Heat tables: a grid of values on a logarithmic scale of one colour, each with its number; failures are marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle

from redolab.report.plots import LIMIT, plt

_COLOURS = "Blues"
_DARK = 0.6
"""Depth of colour from which the text is white."""

_ACROSS = 60
"""Characters of labels that fit in one row."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One cell: its text, and the value for its colour; None for a failure."""

    text: str
    value: float | None


def draw_heat(
    axes: Axes,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], HeatCell],
    span: tuple[float, float],
) -> None:
    """Draw the cells of (row, column). `span`: the least and the greatest value of all panels."""
    shade = LogNorm(span[0] / 2, span[1] * 1.5)
    for (row, column), cell in cells.items():
        at = columns.index(column), rows.index(row)
        depth = None if cell.value is None else float(shade(cell.value))
        colour = LIMIT if depth is None else plt.get_cmap(_COLOURS)(depth)
        ink = "white" if depth is None or depth > _DARK else "black"
        axes.add_patch(Rectangle((at[0] - 0.5, at[1] - 0.5), 1, 1, facecolor=colour, edgecolor="white"))
        axes.text(*at, cell.text, ha="center", va="center", color=ink, fontsize="small")
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    longest = max(len(column) for column in columns)
    crowded = len(columns) * longest > _ACROSS
    axes.set_xticks(range(len(columns)), columns, rotation=25 if crowded else 0, ha="right" if crowded else "center")
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
