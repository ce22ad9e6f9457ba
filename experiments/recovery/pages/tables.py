"""A recovery run on a page: its answer, its table, its plots, and how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from redolab.crashes.bench import crashes_of
from redolab.crashes.marks import Off, marks_of
from redolab.crashes.recovery import RecoveryTrial
from redolab.report.contents import Plot
from redolab.runs.machines import machine_names
from redolab.runs.store import Run

from ..answer import answer
from ..plots import plot_phases
from ..rows import RecoveryRow, order_of, recovery_rows
from ..table import recovery_table


@dataclass(frozen=True, slots=True)
class OnPage:
    """What a page shows of a run."""

    run: str
    answer: str
    table: str
    """As Markdown."""
    machine: str
    date: str
    rows: Sequence[RecoveryRow]
    off: Off

    def phases(self, stem: str = "phases") -> Plot:
        """The picture of its phases, in a file of that stem."""
        return Plot(stem, partial(plot_phases, rows=self.rows, title=self.answer, off=self.off, stem=stem))


def on_page(*runs: Run) -> OnPage:
    """What a page shows of runs together, of which the first says where and when. Raises `LabError` if one cannot be read."""
    crashes = [image for run in runs for image in crashes_of(run)]
    off = {where: figures for run in runs for where, figures in marks_of([run]).items()}
    rows = [row for run in runs for row in _rows(run)]
    session = runs[0].record().sessions[0]
    return OnPage(
        run=runs[0].name,
        answer=answer(rows),
        table=recovery_table(rows, crashes, off).as_markdown(),
        machine=f"{session.machine.in_words()}, {session.machine.system}",
        date=f"{session.began:%Y-%m-%d}",
        rows=rows,
        off=off,
    )


def _rows(run: Run) -> list[RecoveryRow]:
    return recovery_rows(
        run.trials(RecoveryTrial), crashes_of(run), order_of(run), machine_names(run.record().sessions)
    )
