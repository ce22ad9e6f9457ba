"""What an inflation run measured, as its table and its plots."""

from __future__ import annotations

from functools import partial

from redolab.errors import LabError
from redolab.report.contents import Plot, Report
from redolab.runs.factors import read_factors
from redolab.runs.store import Run

from .factors import Factors
from .plots import plot_layers, plot_ratio
from .table import CountedServer, answer, counted_servers, inflation_table, layers_table, row_dictionaries
from .trial import InflationCell, InflationTrial


def report(run: Run) -> Report:
    """The table and the plots of what a run has measured."""
    found = found_in(run)
    rows = [row for of_server in found for row in of_server.rows]
    return Report(
        answer=answer(found),
        tables=[inflation_table(found)],
        details=[layers_table(found)],
        rows={"table": row_dictionaries(rows)},
        plots=[Plot("ratio", partial(plot_ratio, found=found)), Plot("layers", partial(plot_layers, found=found))],
    )


def found_in(run: Run) -> list[CountedServer]:
    """What a run's trials say of each server. Raises `LabError` if they cannot be read."""
    return counted_servers([record.trial for record in run.trials(InflationTrial)], _order(run))


def _order(run: Run) -> list[InflationCell]:
    """The cells in the order in which they were asked for; none where that can no longer be read."""
    try:
        return read_factors(Factors, run.record().options).cells()
    except LabError:
        return []
