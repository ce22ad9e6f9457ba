"""Report of a survey, with the predictions of the calibration that comes with redolab."""

from __future__ import annotations

from redolab.report.contents import Report
from redolab.results.alike import keyed_recoveries
from redolab.results.marks import disks_of
from redolab.runs.store import Run
from redolab.sizing.calibration import shipped_calibration
from redolab.sizing.judging import answer, judged_recoveries, recoveries_table, row_dictionaries, strata_table


def report(run: Run) -> Report:
    """Return the answer and the tables of a run's recoveries."""
    calibration = shipped_calibration()
    judged = judged_recoveries(keyed_recoveries([run]), calibration)
    disks, of_disks = disks_of(run)
    return Report(
        answer=answer(judged, calibration),
        tables=[strata_table(judged)],
        details=[recoveries_table(judged), *disks],
        rows={"table": row_dictionaries(judged), **of_disks},
    )
