"""What all plots have in common: drawn without a display, readable in print and without telling colours apart."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

__all__ = ["LIMIT", "MEASURED", "MODEL", "WIDTH", "plt", "save"]

# The same figure is the same file: what is committed can be compared with what is drawn anew.
mpl.rcParams["svg.hashsalt"] = "redolab"

WIDTH = 8.0
# Okabe and Ito's colours for the colour-blind (https://jfly.uni-koeln.de/color/).
MEASURED = "#0072B2"
LIMIT = "#D55E00"
MODEL = "#666666"


def save(figure: Figure, path: Path) -> None:
    """Write a figure as `PATH.svg` and `PATH.png`, and let go of it."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(f"{path}.svg", metadata={"Date": None})
    figure.savefig(f"{path}.png", dpi=150)
    plt.close(figure)
