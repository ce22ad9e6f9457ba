"""The machines that the lab was on, as a table."""

from __future__ import annotations

from dataclasses import dataclass

from redolab.errors import LabError
from redolab.progress import Progress
from redolab.remote.address import SshAddress
from redolab.remote.visit import jobs_of, known_machines
from redolab.report.table import Column, ReportTable


@dataclass(frozen=True, slots=True)
class _Row:
    machine: str
    what: str
    since: str = ""
    by: str = ""


_COLUMNS = [
    Column[_Row]("machine", lambda row: row.machine),
    Column[_Row]("what runs there", lambda row: row.what),
    Column[_Row]("since", lambda row: row.since),
    Column[_Row]("asked by", lambda row: row.by),
]


def machines_table(progress: Progress) -> ReportTable:
    """What runs on each machine, asked now."""
    return ReportTable.of("Machines", [_row(address, progress) for address in known_machines()], _COLUMNS, [])


def _row(address: SshAddress, progress: Progress) -> _Row:
    try:
        jobs = jobs_of(address, progress)
    except LabError as error:
        return _Row(str(address), error.problem)
    if not jobs:
        return _Row(str(address), "nothing")
    last = jobs[-1]
    ended = "" if last.alive else " (ended)"
    return _Row(str(address), f"redolab {' '.join(last.arguments)}{ended}", last.started, last.by)
