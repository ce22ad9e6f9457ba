"""What an inflation run measured, as its table and its plots."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.inflation import InflationTrial
from redolab.report.inflation_plots import plot_layers, plot_ratio
from redolab.report.inflation_table import findings, inflation_table, row_dictionaries
from redolab.report.table import ReportTable, write_rows, write_tables
from redolab.results import Run


def report(run: Run, *, stopped: bool = False) -> Sequence[ReportTable]:
    """Write the table and the plots of what a run has measured into its folder."""
    found = findings(run.trials(InflationTrial))
    table = inflation_table(found, stopped=stopped)
    write_tables(run.folder, [table])
    write_rows(run.folder, "table", row_dictionaries([row for finding in found for row in finding.rows]))
    plot_ratio(run.folder / "plots", found)
    plot_layers(run.folder / "plots", found)
    return [table]
