"""Judged recoveries for people and programs: the answer, the tables, the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redolab.predict.calibration import Calibration, shipped_calibration
from redolab.predict.judged_predictions import (
    JudgedPredictions,
    JudgedRecovery,
    JudgedStratum,
    judged_recoveries,
    strata,
)
from redolab.predict.recovery import Prediction
from redolab.predict.recovery_time.spread import clopper_pearson
from redolab.predict.usual import UsualRecovery
from redolab.report.contents import Report
from redolab.report.numbers import number
from redolab.report.table import Column, ReportTable, known
from redolab.results.alike import keyed_recoveries
from redolab.results.marks import disks_of
from redolab.runs.store import Run
from redolab.units import format_size

STRATUM: Sequence[Column[JudgedStratum]] = (
    Column("server", lambda row: row.server, shared=str),
    Column("workload", lambda row: row.workload, shared="under {}".format),
    Column("storage", lambda row: row.storage, shared="on {}".format),
    Column("log", lambda row: row.log, right=True),
)
"""Columns that identify a stratum."""


def judged_report(run: Run, tables: Callable[[Sequence[JudgedRecovery], Calibration], Sequence[ReportTable]]) -> Report:
    """Return the recoveries of a run beside the predictions of the calibration that comes with redolab."""
    calibration = shipped_calibration()
    judged = judged_recoveries(keyed_recoveries([run]), calibration)
    disks, disk_rows = disks_of(run)
    return Report(
        answer=answer(judged, calibration),
        tables=tables(judged, calibration),
        details=[recoveries_table(judged), *disks],
        rows={"table": row_dictionaries(judged), **disk_rows},
    )


def answer(judged: Sequence[JudgedRecovery], calibration: Calibration) -> str:
    """Return the errors of predictions in a sentence, after a warning if the calibration was trained on this run."""
    has_seen = any(each.keyed.run in calibration.runs for each in judged)
    seen = (
        "The calibration has learned from this run, so this is how well it fits, and no prediction. "
        if has_seen
        else ""
    )
    return seen + _off_by(JudgedPredictions(recoveries=judged))


def _off_by(judgement: JudgedPredictions) -> str:
    ratios, predicted = judgement.ratios, judgement.predicted
    if not ratios:
        return f"{len(judgement.recoveries)} recoveries were measured; the calibration predicts none of them."
    return (
        f"The calibration's predictions of {len(predicted)} recoveries of {_crashes(predicted)} crashes were off by "
        f"{judgement.median_error:.0%} (median), from {min(ratios):.2f} to {max(ratios):.2f} times what was measured; "
        f"{judgement.above} took longer than 95 % were to take."
    )


def strata_table(judged: Sequence[JudgedRecovery]) -> ReportTable:
    """Return a table with a row for each stratum."""
    columns = [
        *STRATUM,
        Column[JudgedStratum]("crashes", lambda row: _crashes(row.recoveries), right=True),
        Column[JudgedStratum]("recoveries", lambda row: str(len(row.recoveries)), right=True),
        Column[JudgedStratum]("ready, s", _ready, right=True),
        Column[JudgedStratum]("median error", lambda row: f"{row.median_error:.0%}" if row.ratios else "–", right=True),
        Column[JudgedStratum]("predicted / measured", _span, right=True),
        Column[JudgedStratum]("above the upper end", _above, right=True),
    ]
    notes = [
        "Predicted from the age and the dirty pages at the crash. Above the upper end: of the "
        "90 % interval, so that one in twenty is expected there; with the 95 % interval of the share, as if crashes were independent."
    ]
    return ReportTable.brief("Predicted and measured", strata(judged), columns, notes)


def _crashes(recoveries: Sequence[JudgedRecovery]) -> str:
    return str(len({each.keyed.trial.image for each in recoveries}))


def _ready(row: JudgedStratum) -> str:
    never = len(row.recoveries) - len(row.ready)
    span = f"{min(row.ready):.1f}–{max(row.ready):.1f}" if row.ready else "–"
    return f"{span}, {never} never" if never else span


def _span(row: JudgedStratum) -> str:
    return f"{row.bias:.2f} ({min(row.ratios):.2f}–{max(row.ratios):.2f})" if row.ratios else "–"


def _above(row: JudgedStratum) -> str:
    count = len(row.predicted)
    if not count:
        return "–"
    low, high = clopper_pearson(row.above, count)
    return f"{row.above} of {count} ({low:.0%}–{high:.0%})"


def planned_table(loads: Sequence[JudgedStratum]) -> ReportTable:
    """Return a table with a row for each stratum: the recovery planned for a random crash, and the measured ones."""
    columns = [
        *STRATUM,
        Column[JudgedStratum]("crashes", lambda row: str(len(row.recoveries)), right=True),
        Column[JudgedStratum]("half ready, s", lambda row: number(row.half_ready), right=True),
        Column[JudgedStratum]("planned: typical, 95 % sure", lambda row: known(row.planned, _planned), right=True),
        Column[JudgedStratum]("planned / measured", lambda row: number(row.planned_ratio), right=True),
        Column[JudgedStratum](
            "above the planned 95 %",
            lambda row: known(row.planned, lambda _: f"{row.above_planned} of {len(row.recoveries)}"),
            right=True,
        ),
    ]
    notes = [
        "Planned: without a look at the load, by the ages and the dirty pages that loads of its kind had at random moments. A dash: no "
        "such load is known to the calibration."
    ]
    return ReportTable.brief("Planned and measured", loads, columns, notes)


def _planned(planned: UsualRecovery) -> str:
    return f"{number(planned.half_s)}, {number(planned.ninety_five_s)}"


def recoveries_table(judged: Sequence[JudgedRecovery]) -> ReportTable:
    """Return a table with a row for each recovery: its conditions and its times."""
    columns = [
        Column[JudgedRecovery]("server", lambda row: row.keyed.trial.server, shared=str),
        Column[JudgedRecovery]("workload", lambda row: row.keyed.image.spec.workload, shared="under {}".format),
        Column[JudgedRecovery]("storage", lambda row: row.keyed.trial.storage, shared="on {}".format),
        Column[JudgedRecovery]("log", lambda row: format_size(row.keyed.trial.log_size), right=True),
        Column[JudgedRecovery]("tables", lambda row: format_size(row.keyed.image.spec.dataset.size), right=True),
        Column[JudgedRecovery](
            "redo", lambda row: known(row.keyed.image.last_sample.checkpoint_age, format_size), right=True
        ),
        Column[JudgedRecovery](
            "dirty pages", lambda row: f"{row.keyed.image.last_sample.dirty_pages or 0:,}", right=True
        ),
        Column[JudgedRecovery]("pool", lambda row: format_size(row.keyed.trial.buffer_pool), right=True),
        Column[JudgedRecovery]("batches", lambda row: known(row.batches, str), right=True),
        Column[JudgedRecovery]("ready, s", _outcome, right=True),
        Column[JudgedRecovery]("predicted, s", lambda row: known(row.predicted, _seconds), right=True),
        Column[JudgedRecovery]("predicted / measured", lambda row: number(row.ratio), right=True),
        Column[JudgedRecovery]("", lambda row: "disturbed" if row.keyed.trial.is_disturbed else ""),
    ]
    return ReportTable.of("Every recovery", judged, columns, [])


def _outcome(row: JudgedRecovery) -> str:
    return str(row.keyed.trial.outcome) if row.ready is None else f"{row.ready:.1f}"


def _seconds(predicted: Prediction) -> str:
    return f"{predicted.seconds:.1f}"


def row_dictionaries(judged: Sequence[JudgedRecovery]) -> list[dict[str, object]]:
    """Return the recoveries as dictionaries for programs; bytes and seconds."""
    found = []
    for each in judged:
        trial, image = each.keyed.trial, each.keyed.image
        found.append(
            {
                "server": trial.server,
                "version": trial.version,
                "workload": image.spec.workload,
                "storage": trial.storage,
                "log_size_bytes": trial.log_size,
                "dataset_bytes": image.spec.dataset.size,
                "pool_under_load_bytes": image.spec.instance.buffer_pool,
                "crash_moment_s": image.moment,
                "checkpoint_age_bytes": image.last_sample.checkpoint_age,
                "hard_limit_bytes": image.hard_limit,
                "dirty_pages": image.last_sample.dirty_pages,
                "buffer_pool_bytes": trial.buffer_pool,
                "outcome": str(trial.outcome),
                "ready_s": each.ready,
                "predicted_s": None if each.predicted is None else each.predicted.seconds,
                "predicted_upper_s": None if each.predicted is None else each.predicted.ninety[1],
                "is_disturbed": trial.is_disturbed,
            }
        )
    return found
