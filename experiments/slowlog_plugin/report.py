"""What a run of the slow log plugin's experiment measured, as its tables and its plot."""

from __future__ import annotations

from functools import partial

from redolab.report.contents import Plot, Report
from redolab.runs.store import Run

from .plots import plot_costs
from .table import answer, cost_rows, cost_table, details_table, killed_rows, killed_table, row_dictionaries
from .trial import PluginTrial


def report(run: Run) -> Report:
    """The tables and the plot of what a run has measured."""
    trials = [record.trial for record in run.trials(PluginTrial)]
    rows, killed = cost_rows(trials), killed_rows(trials)
    return Report(
        answer=answer(rows, killed),
        tables=[*([cost_table(rows)] if rows else []), *([killed_table(killed)] if killed else [])],
        details=[details_table(rows)] if rows else [],
        rows={"table": row_dictionaries(rows)},
        plots=[Plot("costs", partial(plot_costs, rows=rows))] if rows else [],
    )
