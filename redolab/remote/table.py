"""The machines that the lab was on, as a table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rich.console import Console

from redolab.errors import LabError
from redolab.progress import Progress
from redolab.remote.address import MachineAddress
from redolab.remote.visit import jobs_of, known_machines
from redolab.report.table import Column, ReportTable

_AT_ONCE = 16


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
    """What runs on each machine, all asked at once: one that is switched off takes half a minute to be given up."""
    known = known_machines()
    with progress.stage("asking the machines", brief=True), ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        rows = list(pool.map(_row, known))
    return ReportTable.of("Machines", rows, _COLUMNS, [])


def _row(address: MachineAddress) -> _Row:
    try:
        jobs = jobs_of(address, Progress(Console(quiet=True)))
    except LabError as error:
        return _Row(str(address), error.problem)
    if not jobs:
        return _Row(str(address), "nothing")
    last = jobs[-1]
    ended = "" if last.alive else " (ended)"
    return _Row(str(address), f"redolab {' '.join(last.arguments)}{ended}", last.started, last.by)
