"""What a run of removals measured, as its answer, tables and plot."""

from __future__ import annotations

from functools import partial

from redolab.report.contents import Plot, Report
from redolab.runs.store import Run

from .plots import plot_waits
from .results import answer, results
from .rows import row
from .table import commits_table, waits_table
from .trial import PurgeTrial


def report(run: Run) -> Report:
    """The answer and the tables of a run. Raises `LabError` if its trials cannot be read."""
    trials = [record.trial for record in run.trials(PurgeTrial)]
    found = results(trials)
    return Report(
        answer=answer(found),
        tables=[waits_table(found)],
        details=[commits_table(found)],
        rows={"table": [row(trial) for trial in trials]},
        plots=[Plot("waits", partial(plot_waits, found=found))] if found else [],
    )
