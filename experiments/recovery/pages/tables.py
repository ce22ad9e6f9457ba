"""A recovery run on a page: its answer, its table, its plots, and how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from redolab.report.contents import Plot
from redolab.results.alike import Keyed, keyed_recoveries
from redolab.results.crashes import crashes_of
from redolab.results.marks import Off, marks_of
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

    def phases(self, stem: str = "phases", title: str = "") -> Plot:
        """The picture of its phases, in a file of that stem; its title is the answer unless another is given."""
        return Plot(stem, partial(plot_phases, rows=self.rows, title=title or self.answer, off=self.off, stem=stem))


def on_page(*runs: Run) -> OnPage:
    """What a page shows of runs together, of which the first says where and when. Raises `LabError` if one cannot be read."""
    return of_recoveries(runs, keyed_recoveries(runs))


def of_recoveries(runs: Sequence[Run], recoveries: Sequence[Keyed]) -> OnPage:
    """What a page shows of these recoveries of some runs, a row a cell of one run; the first says where and when."""
    rows = [
        row
        for run in runs
        for row in recovery_rows([each for each in recoveries if each.run == run.name], order_of(run))
    ]
    return of_rows(runs, recoveries, rows)


def of_rows(runs: Sequence[Run], recoveries: Sequence[Keyed], rows: Sequence[RecoveryRow]) -> OnPage:
    """What a page shows of these rows of the recoveries of some runs, of which the first says where and when."""
    names = {each.image.name for each in recoveries}
    crashes = [image for run in runs for image in crashes_of(run) if image.name in names]
    off, first = marks_of(runs), recoveries[0]
    session = next(run for run in runs if run.name == first.run).record().sessions[first.record.session]
    return OnPage(
        run=first.run,
        answer=answer(rows),
        table=recovery_table(rows, crashes, off).as_markdown(),
        machine=f"{session.machine.in_words()}, {session.machine.system}",
        date=f"{session.began:%Y-%m-%d}",
        rows=rows,
        off=off,
    )
