"""Contents of reports: tables, the numbers behind them, and plots that are drawn on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from redolab.report.table import ReportTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot that is drawn on request."""

    name: str
    draw: Callable[[], Figure | None]
    """Function that returns the figure, or None if there is nothing to draw."""

    def save(self, folder: Path) -> None:
        """Draw the plot into a folder: `NAME.svg` and `NAME.png`, or nothing."""
        from redolab.report.plots import save

        if (figure := self.draw()) is not None:
            save(figure, folder / self.name)


@dataclass(frozen=True, slots=True)
class Report:
    """Report of an experiment on a run."""

    answer: str
    """Answer to the experiment's question, in a sentence."""
    tables: Sequence[ReportTable]
    """Main tables, shown to everybody."""
    details: Sequence[ReportTable] = ()
    """Tables with explanations, shown on request."""
    rows: Mapping[str, Sequence[Mapping[str, object]]] = field(default_factory=dict)
    """Name → rows behind a table, for programs. Without a `table`, the run's trials are the rows behind the tables."""
    plots: Sequence[Plot] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Name → content of further files in the run's folder."""
