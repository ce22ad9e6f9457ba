"""What a recovery run measured, as its tables and its plots."""

from __future__ import annotations

from functools import partial

from redolab.crashes.bench import CrashPlan, checks_of, crashes_of, samples_of
from redolab.crashes.recovery import RecoveryTrial
from redolab.errors import LabError
from redolab.report.contents import Plot, Report
from redolab.runs.store import Run
from redolab.storage.table import disk_dictionaries, disks_table, marks

from .plots import plot_age, plot_phases, plot_redo
from .table import CellKey, limits_table, recovery_rows, recovery_table, row_dictionaries


def report(run: Run) -> Report:
    """The tables and the plots of the recoveries that a run has measured."""
    crashes, disks = crashes_of(run), checks_of(run)
    rows = recovery_rows(run.trials(RecoveryTrial), crashes, _order(run))
    tables = [recovery_table(rows, crashes, marks(disks)), limits_table(rows)]
    numbers = {"table": row_dictionaries(rows)}
    if disks:
        tables.append(disks_table(disks))
        numbers["disks"] = disk_dictionaries(disks)
    ages = [
        Plot(f"age of {image.name}", partial(plot_age, image=image, samples=samples_of(run, image.name)))
        for image in crashes
    ]
    phases, redo = Plot("phases", partial(plot_phases, rows=rows)), Plot("redo", partial(plot_redo, rows=rows))
    return Report(tables=tables, rows=numbers, plots=[*ages, phases, redo])


def _order(run: Run) -> list[CellKey]:
    """The cells in the order in which they were asked for; none where the run keeps no plan of today."""
    try:
        plan: CrashPlan = run.plan(CrashPlan)
    except LabError:
        return []
    storages = list(plan.conditions.storages)
    asked = list(dict.fromkeys(each.step.settings for each in plan.steps))
    places = {
        (each.group, storages.index(each.step.storage), -each.step.pool, asked.index(each.step.settings))
        for each in plan.steps
    }
    return [
        (
            plan.groups[group].server,
            plan.groups[group].spec.instance.log_size,
            storages[storage],
            -less_pool,
            asked[which],
        )
        for group, storage, less_pool, which in sorted(places)
    ]
