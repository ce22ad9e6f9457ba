"""Machines of a run: their names in its tables, and their comparison by check cells."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redolab.machine.facts import Machine
from redolab.machine.machine_class import MachineClass, machine_classes
from redolab.report.numbers import NONE
from redolab.report.table import Column, ReportTable
from redolab.runs.schema import Session
from redolab.runs.store import Run

if TYPE_CHECKING:
    from redolab.runs.experiment import Declaration

MACHINES = "machines"
"""Folder of a run with a folder for each machine of a cluster, which holds the run of its check cell."""


def identity_of(run: Run) -> str:
    """Return the id of the machine of a run's last session; empty in runs made before ids were recorded."""
    return run.record().sessions[-1].identity


def machine_names(sessions: Sequence[Session]) -> list[str]:
    """Return the table name of each session's machine, numbered if machines of two classes share a name.

    Machines of one class and name are never distinguished: their times compare.
    """
    classes = machine_classes([session.machine for session in sessions])
    names: dict[tuple[str, MachineClass], str] = {}
    for session, of_it in zip(sessions, classes, strict=True):
        if (session.address, of_it) not in names:
            number = 1 + sum(address == session.address for address, _ in names)
            names[session.address, of_it] = session.address if number == 1 else f"{session.address} ({number})"
    return [names[session.address, of_it] for session, of_it in zip(sessions, classes, strict=True)]


def machines_of(runs: Sequence[Run]) -> Mapping[str, Sequence[str]]:
    """Return run → machine names of its sessions, distinct over all runs: two runs may both call theirs `local`."""
    sessions = {run.name: run.record().sessions for run in runs}
    names = iter(machine_names([session for of_run in sessions.values() for session in of_run]))
    return {run: [next(names) for _ in of_run] for run, of_run in sessions.items()}


@dataclass(frozen=True, slots=True)
class _CheckedMachine:
    """A machine and the results of its check cell."""

    name: str
    machine: Machine
    values: Sequence[float]
    first: float | None
    """Median on the first machine."""

    @property
    def median(self) -> float | None:
        return statistics.median(self.values) if self.values else None


def machines_table(experiment: type[Declaration], run: Run) -> ReportTable | None:
    """Return a comparison of a cluster's machines; None for a run without a cluster. Raises `LabError`."""
    cell = experiment.check_cell
    if cell is None or not (checked := _checked(experiment, run, cell.column)):
        return None
    columns = [
        Column[_CheckedMachine]("machine", lambda row: row.name),
        Column[_CheckedMachine]("CPU", lambda row: row.machine.cpu or NONE),
        Column[_CheckedMachine]("cores", lambda row: str(row.machine.cores), right=True),
        Column[_CheckedMachine]("kernel", lambda row: row.machine.kernel or NONE),
        Column[_CheckedMachine]("disk", lambda row: f"{row.machine.disk.file_system} on {row.machine.disk.device}"),
        Column[_CheckedMachine](
            f"check: {cell.name}", lambda row: NONE if row.median is None else f"{row.median:.2f}", right=True
        ),
        Column[_CheckedMachine](
            "min–max", lambda row: f"{min(row.values):.2f}–{max(row.values):.2f}" if row.values else NONE, right=True
        ),
        Column[_CheckedMachine]("n", lambda row: str(len(row.values)), right=True),
        Column[_CheckedMachine]("to the first", _ratio, right=True),
    ]
    notes = [
        "The check is one small cell, measured the same way on each machine before anything else: it says how alike they are. "
        "Figures of different machines are different rows, and nothing compares them."
    ]
    return ReportTable.of("Machines", checked, columns, notes)


def _ratio(row: _CheckedMachine) -> str:
    return f"{row.median / row.first:.2f}" if row.median is not None and row.first else NONE


def _checked(experiment: type[Declaration], run: Run, column: str) -> list[_CheckedMachine]:
    """Return the machines on which a run has checks, with the values of a column of their rows."""
    checks = [Run(path.parent) for path in sorted((run.files / MACHINES).glob("*/run.json"))]
    # Name and order the machines as in the run's own tables: its sessions come first.
    own = run.record().sessions
    sessions = [*own, *(check.record().sessions[-1] for check in checks)]
    names = machine_names(sessions)
    machines = {name: session.machine for name, session in zip(names, sessions, strict=True)}
    values: dict[str, list[float]] = {}
    for name, check in zip(names[len(own) :], checks, strict=True):
        measured = [row[column] for _, row in experiment.rows(check)]
        values.setdefault(name, []).extend(float(each) for each in measured if isinstance(each, int | float))
    first = next((statistics.median(values[name]) for name in machines if values.get(name)), None)
    return [_CheckedMachine(name, machines[name], values[name], first) for name in machines if name in values]
