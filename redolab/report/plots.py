"""Common style of all plots: drawn without a display, with the finding as title, readable in grey."""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path

import matplotlib as mpl

# Jupyter's own backend, which shows figures, has such a name; the lab itself has no display.
if not os.environ.get("MPLBACKEND", "").startswith("module://"):
    mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

__all__ = ["COLOURS", "LIMIT", "MEASURED", "MODEL", "WIDTH", "head", "plt", "save", "wrapped"]

# The same figure gives the same file: a committed plot can be compared with a new one.
mpl.rcParams["svg.hashsalt"] = "redolab"

WIDTH = 8.0
# Okabe and Ito's colours for the colour-blind (https://jfly.uni-koeln.de/color/).
MEASURED = "#0072B2"
LIMIT = "#D55E00"
MODEL = "#666666"
COLOURS = (MEASURED, LIMIT, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
"""Colours of lines that are compared, in this order."""


_LETTERS = 11
"""Characters of a title in an inch of its figure."""


_UNIT = re.compile(r"(?<=\d) (?=(?:ms|s|min|h)\b|%)")
_NO_BREAK = "\N{NO-BREAK SPACE}"


def head(figure: Figure, finding: str, shared: str) -> None:
    """Set a figure's finding as its title, and under it the conditions that all of it shares."""
    columns = int(figure.get_figwidth() * _LETTERS)
    title = figure.suptitle("\n".join(wrapped(finding, columns)), fontsize="large", x=0.01, ha="left")
    # Digits and capitals are wider than other letters.
    for fewer in range(columns - 1, columns // 2, -1):
        if title.get_window_extent().x1 <= figure.bbox.x1:
            break
        title.set_text("\n".join(wrapped(finding, fewer)))
    if shared:
        figure.axes[0].set_title("\n".join(wrapped(shared, columns)), fontsize="small", loc="left", color=MODEL)


def wrapped(text: str, columns: int) -> list[str]:
    """Return the text in lines of at most `columns` characters, without a break between number and unit (`+4 s`)."""
    lines = textwrap.wrap(_UNIT.sub(_NO_BREAK, text), columns)
    return [line.replace(_NO_BREAK, " ") for line in lines]


def save(figure: Figure, path: Path) -> None:
    """Write a figure as `PATH.svg` and `PATH.png`, and close it."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(f"{path}.svg", metadata={"Date": None})
    figure.savefig(f"{path}.png", dpi=150)
    plt.close(figure)
