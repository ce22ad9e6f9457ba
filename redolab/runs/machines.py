"""The machines of a run: what each is called in its tables, and how alike they are by their check cells."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redolab.machine.description import Machine, same_machine
from redolab.report.table import Column, ReportTable
from redolab.runs.experiment import Experiment
from redolab.runs.schema import Session, TrialRecord
from redolab.runs.store import Run

MACHINES = "machines"
"""In a run's folder: a folder for each machine of a cluster, in it the run of its check cell."""


def on_one_machine(one: Session, other: Session) -> bool:
    """Whether two sessions were on one machine: of equal hardware, and called the same."""
    return one.address == other.address and same_machine(one.machine, other.machine)


def machine_names(sessions: Sequence[Session]) -> list[str]:
    """What the machine of each session is called: a name for each machine, with a number where two had the same."""
    names: list[str] = []
    for place, session in enumerate(sessions):
        known = next((names[other] for other in range(place) if on_one_machine(sessions[other], session)), None)
        name, number = session.address, 1
        while known is None and name in names:
            number += 1
            name = f"{session.address} ({number})"
        names.append(known or name)
    return names


def machines_of(runs: Sequence[Run]) -> Mapping[str, Sequence[str]]:
    """Run → the names of its sessions' machines, told apart in all runs: two may both be `local` to theirs."""
    sessions = {run.name: run.record().sessions for run in runs}
    names = iter(machine_names([session for of_run in sessions.values() for session in of_run]))
    return {run: [next(names) for _ in of_run] for run, of_run in sessions.items()}


def measured_on(runs: Sequence[Run]) -> list[str]:
    """The machines on which something of these runs was measured, as a reader is told: what they are, and their system."""
    measured = [run.record().sessions[group.session] for run in runs for group in run.groups().values()]
    return list(dict.fromkeys(f"{each.machine.in_words()}, {each.machine.system}" for each in measured))


@dataclass(frozen=True, slots=True)
class _Checked:
    """A machine and what its check cell came to."""

    name: str
    machine: Machine
    values: Sequence[float]
    first: float | None
    """The median on the first machine."""

    @property
    def median(self) -> float | None:
        return statistics.median(self.values) if self.values else None


def machines_table(experiment: Experiment, run: Run) -> ReportTable | None:
    """How alike the machines of a cluster are; None of a run that no cluster measured. Raises `LabError`."""
    found = _checked(experiment, run)
    cell = experiment.check
    if not found or cell is None:
        return None
    columns = [
        Column[_Checked]("machine", lambda row: row.name),
        Column[_Checked]("CPU", lambda row: row.machine.cpu or "–"),
        Column[_Checked]("cores", lambda row: str(row.machine.cores), right=True),
        Column[_Checked]("kernel", lambda row: row.machine.kernel or "–"),
        Column[_Checked]("disk", lambda row: f"{row.machine.disk.file_system} on {row.machine.disk.device}"),
        Column[_Checked](
            f"check: {cell.name}", lambda row: "–" if row.median is None else f"{row.median:.2f}", right=True
        ),
        Column[_Checked](
            "min–max", lambda row: f"{min(row.values):.2f}–{max(row.values):.2f}" if row.values else "–", right=True
        ),
        Column[_Checked]("n", lambda row: str(len(row.values)), right=True),
        Column[_Checked]("to the first", _ratio, right=True),
    ]
    notes = [
        "The check is one small cell, measured the same way on each machine before anything else: it says how alike they are. "
        "Figures of different machines are different rows, and nothing compares them."
    ]
    return ReportTable.of("Machines", found, columns, notes)


def _ratio(row: _Checked) -> str:
    return f"{row.median / row.first:.2f}" if row.median is not None and row.first else "–"


def _checked(experiment: Experiment, run: Run) -> list[_Checked]:
    if experiment.check is None:
        return []
    runs = [Run(path.parent) for path in sorted((run.folder / MACHINES).glob("*/run.json"))]
    of_checks = [each.record().sessions[-1] for each in runs]
    # Called as in the run's own tables: its sessions come first.
    own = run.record().sessions
    names = machine_names([*own, *of_checks])[len(own) :]
    order = {name: place for place, name in reversed(list(enumerate(machine_names(own))))}
    values: dict[str, list[float]] = {}
    machines: dict[str, Machine] = {}
    for name, session, each in zip(names, of_checks, runs, strict=True):
        machines[name] = session.machine
        values.setdefault(name, []).extend(_headlines(experiment.rows(each), experiment.check.column))
    known = sorted(machines, key=lambda name: order.get(name, len(order)))
    first = next((statistics.median(values[name]) for name in known if values[name]), None)
    return [_Checked(name, machines[name], values[name], first) for name in known]


def _headlines(rows: Sequence[tuple[TrialRecord[object], Mapping[str, object]]], column: str) -> list[float]:
    found = [row[column] for _, row in rows]
    return [float(value) for value in found if isinstance(value, int | float)]
