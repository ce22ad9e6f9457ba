"""What is made of runs: tables, the numbers behind them, and plots that are drawn when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from redolab.report.table import ReportTable


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot that is drawn when it is asked for: into which folder it is told then."""

    name: str
    draw: Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class Report:
    """What an experiment makes of a run."""

    answer: str
    """To the question of the experiment, in a sentence."""
    tables: Sequence[ReportTable]
    """What the run is about; what everybody is shown."""
    details: Sequence[ReportTable] = ()
    """What explains it, for those who ask for all."""
    rows: Mapping[str, Sequence[Mapping[str, object]]] = field(default_factory=dict)
    """Name → the numbers behind a table, for programs."""
    plots: Sequence[Plot] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Name → content of what else the run leaves for its user."""
