"""What a recovery run measured, as its tables and its plots."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.errors import InvalidInput
from redolab.recovery import RecoveryTrial
from redolab.report.recovery_plots import plot_age, plot_phases, plot_redo
from redolab.report.recovery_table import (
    CellKey,
    limits_table,
    recovery_rows,
    recovery_table,
    row_dictionaries,
)
from redolab.report.storage_table import disk_dictionaries, disks_table, marks
from redolab.report.table import ReportTable, write_rows, write_tables
from redolab.results import Run


def report(run: Run, *, stopped: bool = False) -> Sequence[ReportTable]:
    """Write the tables and the plots of the recoveries that a run has measured into its folder."""
    crashes, disks = run.crashes(), run.disks()
    rows = recovery_rows(run.trials(RecoveryTrial), crashes, _order(run))
    tables = [recovery_table(rows, crashes, marks(disks), stopped=stopped), limits_table(rows)]
    if disks:
        tables.append(disks_table(disks))
        write_rows(run.folder, "disks", disk_dictionaries(disks))
    write_tables(run.folder, tables)
    write_rows(run.folder, "table", row_dictionaries(rows))
    for image in crashes:
        plot_age(run.folder / "plots", image, run.samples(image.name))
    plot_phases(run.folder / "plots", rows)
    plot_redo(run.folder / "plots", rows)
    return tables


def _order(run: Run) -> list[CellKey]:
    """The cells in the order in which they were asked for."""
    try:
        plan = run.plan()
    except InvalidInput:
        return []
    return [
        (crash.server, crash.spec.instance.log_size, storage, pool)
        for crash in plan.crashes
        for storage in plan.storages
        for pool in crash.pools
    ]
