"""Large logs on a machine of another class: predicted by other machines' rates, and by rates scaled to the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redolab.predict.fitting import fit_runs
from redolab.predict.judged_predictions import JudgedPredictions, JudgedRecovery, judged_recoveries
from redolab.predict.judged_runs import judged_by_own
from redolab.predict.recovery_time.held_out import FITTED_UP_TO
from redolab.report.table import Column, ReportTable, known
from redolab.results.alike import keyed_recoveries
from redolab.results.committed import HOST_D, by_machine
from redolab.runs.store import Run
from redolab.units import format_size


@dataclass(frozen=True, slots=True)
class LargeLog:
    """A recovery of a log larger than those that rates are fitted to."""

    by_others: JudgedRecovery
    by_own: JudgedRecovery | None
    """Prediction by its own calibration; None if that machine had none."""


def large_logs(learned_from: Sequence[Run], others: Sequence[Run]) -> list[LargeLog]:
    """Return the large logs of the machine of another class; the predictions by others use nothing measured on it.

    `others` are the runs that are only predicted; without any on that machine the result is empty.
    """
    own = [run for run in others if run.folder.parent.name == HOST_D]
    if not own:
        return []
    elsewhere = [run for run in others if run not in own]
    known = fit_runs(learned_from, machines=by_machine([*learned_from, *elsewhere])).calibration
    found = []
    for run in own:
        kept = [each for each in keyed_recoveries([run]) if not each.trial.settings]
        recoveries = [each for each in kept if each.trial.log_size > FITTED_UP_TO]
        if not recoveries:
            continue
        scaled = judged_by_own(recoveries, run, own, known)
        by_own = [None] * len(recoveries) if scaled is None else scaled.recoveries
        found += [LargeLog(*pair) for pair in zip(judged_recoveries(recoveries, known), by_own, strict=True)]
    return found


def large_logs_table(found: Sequence[LargeLog]) -> ReportTable:
    """Return a table with a row for each recovery, with both predictions."""
    columns = [
        Column[LargeLog]("server", lambda row: row.by_others.server),
        Column[LargeLog]("workload", lambda row: row.by_others.keyed.image.spec.workload, shared="under {}".format),
        Column[LargeLog]("storage", lambda row: row.by_others.keyed.trial.storage),
        Column[LargeLog]("log", lambda row: format_size(row.by_others.keyed.trial.log_size), right=True),
        Column[LargeLog](
            "redo", lambda row: known(row.by_others.keyed.image.last_sample.checkpoint_age, format_size), right=True
        ),
        Column[LargeLog]("pool", lambda row: format_size(row.by_others.keyed.trial.buffer_pool), right=True),
        Column[LargeLog]("ready, s", _ready, right=True),
        Column[LargeLog]("by others, s", lambda row: _predicted(row.by_others), right=True),
        Column[LargeLog]("by its own calibration, s", lambda row: _predicted(row.by_own), right=True),
    ]
    notes = ["Predicted, and in parentheses the 90 % interval; a recovery each."]
    return ReportTable.brief("Large logs on a machine of another class", found, columns, notes)


def in_words(found: Sequence[LargeLog]) -> str:
    """Return the errors of both predictions in a sentence."""
    own = [each.by_own for each in found if each.by_own is not None]
    scaled = f"; scaled by the machine's own small crashes {_off(own)}" if own else ""
    never = sum(each.by_others.ready is None for each in found)
    ended = f" {never} of {len(found)} recoveries never ended." if never else ""
    by_others = _off([each.by_others for each in found])
    return f"Predictions by what other machines taught were off by {by_others}{scaled}.{ended}"


def _off(judged: Sequence[JudgedRecovery]) -> str:
    ended = JudgedPredictions(recoveries=[each for each in judged if each.ratio is not None])
    ratios = ended.ratios
    return (
        f"{ended.median_error:.0%} (median; {min(ratios):.2f} to {max(ratios):.2f} times what was measured), {ended.above} of "
        f"{len(ratios)} above the upper end"
    )


def _ready(row: LargeLog) -> str:
    trial = row.by_others.keyed.trial
    if trial.ready_s is None:
        return str(trial.outcome)
    return f"{trial.ready_s:.1f}{' (disturbed)' if trial.is_disturbed else ''}"


def _predicted(judged: JudgedRecovery | None) -> str:
    if judged is None or judged.predicted is None:
        return "–"
    low, high = judged.predicted.ninety
    return f"{judged.predicted.seconds:.1f} ({low:.0f}–{high:.0f})"
