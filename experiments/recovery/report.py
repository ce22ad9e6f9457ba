"""What a recovery run measured: its answer, its tables and its plots."""

from __future__ import annotations

from functools import partial

from redolab.crashes.bench import checks_of, crashes_of, samples_of
from redolab.crashes.recovery import RecoveryTrial
from redolab.report.contents import Plot, Report
from redolab.runs.store import Run
from redolab.storage.table import disk_dictionaries, disks_table, marks

from .answer import answer
from .details import limits_table, phases_table
from .plots import MOST_BARS, plot_age, plot_matrix, plot_phases, plot_redo
from .rows import order_of, recovery_rows, row_dictionaries
from .table import recovery_table


def report(run: Run) -> Report:
    """The answer, the tables and the plots of the recoveries that a run has measured."""
    crashes, disks = crashes_of(run), checks_of(run)
    rows, off = recovery_rows(run.trials(RecoveryTrial), crashes, order_of(run)), marks(disks)
    details = [phases_table(rows, off), limits_table(rows, off)]
    numbers = {"table": row_dictionaries(rows)}
    if disks:
        details.append(disks_table(disks))
        numbers["disks"] = disk_dictionaries(disks)
    ages = [
        Plot(f"age of {image.name}", partial(plot_age, image=image, samples=samples_of(run, image.name)))
        for image in crashes
    ]
    said = answer(rows)
    which = plot_phases if len(rows) <= MOST_BARS else plot_matrix
    times = Plot("times", partial(which, rows=rows, title=said, off=off))
    redo = Plot("redo", partial(plot_redo, rows=rows))
    return Report(
        answer=said,
        tables=[recovery_table(rows, crashes, off)],
        details=details,
        rows=numbers,
        plots=[times, redo, *ages],
    )
