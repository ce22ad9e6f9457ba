"""Accuracy of the distribution of recovery times that is planned for a load without knowing the crash time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.errors import InvalidInput
from redolab.models.intervals import median_of_known
from redolab.report.table import Column, ReportTable, number
from redolab.sizing.asking import model_of
from redolab.sizing.calibration import Calibration
from redolab.sizing.demand import Demand
from redolab.sizing.judging import JudgedRecovery, JudgedStratum, strata
from redolab.sizing.question import Question
from redolab.sizing.usual import UsualRecovery, usual_ages, usual_crashes, usual_recovery


@dataclass(frozen=True, slots=True)
class JudgedLoad:
    """Recoveries of one load, and the distribution planned for a crash of it at a random time."""

    measured: JudgedStratum
    planned: UsualRecovery | None
    """Planned recovery; None if the calibration knows no ages of such a load, or not the server or the storage."""

    @property
    def half_ready(self) -> float | None:
        """Median seconds of the recoveries that ended; None if none did."""
        return median_of_known([each.ready for each in self.measured.recoveries if each.ready is not None])

    @property
    def ratio(self) -> float | None:
        """Planned median over the measured one."""
        half = self.half_ready
        return None if self.planned is None or half is None else self.planned.half_s / half

    @property
    def above(self) -> int:
        """Number of recoveries beyond the planned 95 % upper bound, or without an end."""
        if self.planned is None:
            return 0
        return sum(each.ready is None or each.ready > self.planned.ninety_five_s for each in self.measured.recoveries)


def judged_loads(judged: Sequence[JudgedRecovery], calibration: Calibration) -> list[JudgedLoad]:
    """Return a load for each server, workload, storage and log size."""
    return [JudgedLoad(each, _planned(each, calibration)) for each in strata(judged)]


def _planned(load: JudgedStratum, calibration: Calibration) -> UsualRecovery | None:
    """Return the recovery planned from the checkpoint ages and dirty pages of loads of this kind in the calibration."""
    keyed = load.recoveries[0].keyed
    trial = keyed.trial
    question = Question(
        server=trial.server, storage=trial.storage, pool=trial.buffer_pool, workload=keyed.image.spec.workload
    )
    try:
        model = model_of(question, calibration, trial.storage)
    except InvalidInput:
        return None
    # Only ages are asked for, and the peak redo does not affect them.
    ages = usual_ages(model, Demand(redo_per_hour=math.nan, source=""))
    return None if ages is None else usual_recovery(usual_crashes(model, trial.log_size, ages), math.inf)


def planned_table(loads: Sequence[JudgedLoad]) -> ReportTable:
    """Return a table with a row for each load."""
    columns = [
        Column[JudgedLoad]("server", lambda row: row.measured.server, shared=str),
        Column[JudgedLoad]("workload", lambda row: row.measured.workload, shared="under {}".format),
        Column[JudgedLoad]("storage", lambda row: row.measured.storage, shared="on {}".format),
        Column[JudgedLoad]("log", lambda row: row.measured.log, right=True),
        Column[JudgedLoad]("crashes", lambda row: str(len(row.measured.recoveries)), right=True),
        Column[JudgedLoad]("half ready, s", lambda row: number(row.half_ready), right=True),
        Column[JudgedLoad]("planned: typical, 95 % sure", _planned_in_words, right=True),
        Column[JudgedLoad]("planned / measured", lambda row: "–" if row.ratio is None else f"{row.ratio:.2f}", right=True),
        Column[JudgedLoad]("above the planned 95 %", _above, right=True),
    ]  # fmt: skip
    notes = [
        "Planned: without a look at the load, by the ages and the dirty pages that loads of its kind had at random moments. A dash: no "
        "such load is known to the calibration."
    ]
    return ReportTable.brief("Planned and measured", loads, columns, notes)


def _planned_in_words(row: JudgedLoad) -> str:
    return "–" if row.planned is None else f"{number(row.planned.half_s)}, {number(row.planned.ninety_five_s)}"


def _above(row: JudgedLoad) -> str:
    return "–" if row.planned is None else f"{row.above} of {len(row.measured.recoveries)}"
