"""Report of recoveries after random crashes of each load, with their predictions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from redolab.models.intervals import median_of_known
from redolab.report.contents import Report
from redolab.report.table import Column, ReportTable, number
from redolab.results.alike import keyed_recoveries
from redolab.results.marks import disks_of
from redolab.runs.store import Run
from redolab.sizing.calibration import shipped_calibration
from redolab.sizing.judged_loads import judged_loads, planned_table
from redolab.sizing.judging import (
    JudgedStratum,
    answer,
    judged_recoveries,
    recoveries_table,
    row_dictionaries,
    strata,
    strata_table,
)


def report(run: Run) -> Report:
    """Return the answer and the tables of a run."""
    calibration = shipped_calibration()
    judged = judged_recoveries(keyed_recoveries([run]), calibration)
    disks, of_disks = disks_of(run)
    return Report(
        answer=answer(judged, calibration),
        tables=[
            _moments_table(strata(judged)),
            strata_table(judged),
            planned_table(judged_loads(judged, calibration)),
        ],
        details=[recoveries_table(judged), *disks],
        rows={"table": row_dictionaries(judged), **of_disks},
    )


def _moments_table(loads: Sequence[JudgedStratum]) -> ReportTable:
    columns = [
        Column[JudgedStratum]("server", lambda row: row.server, shared=str),
        Column[JudgedStratum]("workload", lambda row: row.workload, shared="under {}".format),
        Column[JudgedStratum]("storage", lambda row: row.storage, shared="on {}".format),
        Column[JudgedStratum]("log", lambda row: row.log, right=True),
        Column[JudgedStratum]("crashes", lambda row: str(len(row.recoveries)), right=True),
        Column[JudgedStratum]("age, of the hard limit", _ages, right=True),
        Column[JudgedStratum]("half ready after, s", lambda row: number(median_of_known(_ready(row))), right=True),
        Column[JudgedStratum]("all ready after, s", lambda row: number(max(_ready(row), default=None)), right=True),
        Column[JudgedStratum]("never ready", lambda row: str(sum(each.ready is None for each in row.recoveries)), right=True),
    ]  # fmt: skip
    notes = [
        "Ages: the least, the median, the most. The crashes of one load share its history: they are no independent loads."
    ]
    return ReportTable.brief("Recoveries after crashes at random moments", loads, columns, notes)


def _ages(row: JudgedStratum) -> str:
    shares = sorted(
        (each.keyed.image.last_sample.checkpoint_age or 0) / each.keyed.image.hard_limit for each in row.recoveries
    )
    return f"{shares[0]:.0%}, {statistics.median(shares):.0%}, {shares[-1]:.0%}"


def _ready(row: JudgedStratum) -> list[float]:
    return [each.ready for each in row.recoveries if each.ready is not None]
