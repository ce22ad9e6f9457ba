"""Report of a recovery run: its answer, its tables and its plots."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from redolab.report.contents import Plot, Report
from redolab.results.alike import keyed_recoveries
from redolab.results.crashes import crashes_of, samples_of
from redolab.results.marks import Off, disks_of, marks_of
from redolab.results.series import read_moments
from redolab.runs.store import Run

from .answer import answer
from .clients_plot import plot_clients
from .details import limits_table, phases_table
from .plots import MOST_BARS, plot_age, plot_matrix, plot_phases, plot_redo
from .rows import RecoveryRow, by_machine, order_of, recovery_rows, row_dictionaries
from .table import recovery_table


def report(run: Run) -> Report:
    """Return the answer, the tables and the plots of a run's recoveries."""
    crashes, off = crashes_of(run), marks_of([run])
    rows = recovery_rows(keyed_recoveries([run]), order_of(run))
    disks, of_disks = disks_of(run)
    ages = [
        Plot(f"age of {image.name}", partial(plot_age, image=image, samples=samples_of(run, image.name)))
        for image in crashes
    ]
    return Report(
        answer=answer(rows),
        tables=[recovery_table(rows, crashes, off)],
        details=[phases_table(rows, off), limits_table(rows, off), *disks],
        rows={"table": row_dictionaries(rows), **of_disks},
        plots=[*_plots(rows, off), *_clients(run, rows), *ages],
    )


def _clients(run: Run, rows: Sequence[RecoveryRow]) -> list[Plot]:
    """Return plots of the clients' throughput, one for each machine."""
    plots = []
    for name, of_it in by_machine([row for row in rows if row.series]).items():
        series = [(row, read_moments(run.files / row.series)) for row in of_it if (run.files / row.series).exists()]
        if series:
            stem = "clients" if len(by_machine(rows)) < 2 else f"clients-on-{name.replace(' ', '-')}"
            plots.append(Plot(stem, partial(plot_clients, series=series, stem=stem)))
    return plots


def _plots(rows: Sequence[RecoveryRow], off: Off) -> list[Plot]:
    """Return the plots of each machine: a reader compares everything in one picture."""
    machines = by_machine(rows)
    plots = []
    for name, of_it in machines.items():
        on = f"-on-{name.replace(' ', '-')}" if len(machines) > 1 else ""
        which, stem = (plot_phases, "phases") if len(of_it) <= MOST_BARS else (plot_matrix, "matrix")
        title = answer(of_it) if not on else f"On {name}: {answer(of_it)}"
        plots += [
            Plot(f"times{on}", partial(which, rows=of_it, title=title, off=off, stem=f"{stem}{on}")),
            Plot(f"redo{on}", partial(plot_redo, rows=of_it, stem=f"redo{on}")),
        ]
    return plots
