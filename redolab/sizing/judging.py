"""Accuracy of a calibration on recoveries that it was not trained on, with the facts that its user would have."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redolab.errors import InvalidInput
from redolab.models.recovery_time.predict import Prediction
from redolab.models.recovery_time.spread import coverage
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable
from redolab.results.alike import Keyed
from redolab.sizing.asking import model_of
from redolab.sizing.calibration import Calibration
from redolab.sizing.question import Question
from redolab.sizing.recovery import recovery_at
from redolab.units import format_size


@dataclass(frozen=True, slots=True)
class JudgedRecovery:
    """A measured recovery, and its prediction from the crash's age and dirty pages."""

    keyed: Keyed
    predicted: Prediction | None
    """The prediction; None if the calibration does not know the server or the storage."""

    @property
    def ready(self) -> float | None:
        """Seconds to ready; None if the server never was."""
        return self.keyed.trial.ready_s

    @property
    def ratio(self) -> float | None:
        """Predicted over measured; None unless both are known."""
        return None if self.predicted is None or self.ready is None else self.predicted.seconds / self.ready

    @property
    def is_above(self) -> bool:
        """True if it took longer than the predicted 95 % upper bound, or never ended."""
        return self.predicted is not None and (self.ready is None or self.ready > self.predicted.ninety[1])


def judged_recoveries(recoveries: Sequence[Keyed], calibration: Calibration) -> list[JudgedRecovery]:
    """Return every recovery with its prediction, for a person who sees the server right before the crash."""
    return [JudgedRecovery(each, _predicted(each, calibration)) for each in recoveries]


def _predicted(each: Keyed, calibration: Calibration) -> Prediction | None:
    trial, last = each.trial, each.image.last_sample
    workloads = calibration.servers[trial.server].workloads if trial.server in calibration.servers else {}
    workload = each.image.spec.workload
    question = Question(
        server=trial.server,
        storage=trial.storage,
        pool=trial.buffer_pool,
        workload=workload if workload in workloads else None,
        dirty_pages=last.dirty_pages,
    )
    try:
        model = model_of(question, calibration, trial.storage)
        return recovery_at(model, trial.log_size, last.checkpoint_age or 1)
    except InvalidInput:
        return None


@dataclass(frozen=True, slots=True)
class JudgedStratum:
    """Recoveries of one server under one workload on one storage."""

    server: str
    workload: str
    storage: str
    log: str
    recoveries: Sequence[JudgedRecovery]

    @property
    def ratios(self) -> list[float]:
        """Predicted over measured, of recoveries with both."""
        return [each.ratio for each in self.recoveries if each.ratio is not None]

    @property
    def predicted(self) -> list[JudgedRecovery]:
        """Recoveries with a prediction."""
        return [each for each in self.recoveries if each.predicted is not None]


def strata(judged: Sequence[JudgedRecovery]) -> list[JudgedStratum]:
    """Return recoveries grouped by server, workload, storage and log size, in the order of measurement."""
    found: dict[tuple[str, str, str, str], list[JudgedRecovery]] = {}
    for each in judged:
        trial = each.keyed.trial
        label = server_label(trial.server, trial.version.split("-")[0])
        key = (label, each.keyed.image.spec.workload, trial.storage, format_size(trial.log_size))
        found.setdefault(key, []).append(each)
    return [JudgedStratum(*key, of_it) for key, of_it in found.items()]


def answer(judged: Sequence[JudgedRecovery], calibration: Calibration) -> str:
    """Return the errors of predictions in a sentence, after a warning if the calibration was trained on this run."""
    has_seen = any(each.keyed.run in calibration.runs for each in judged)
    seen = (
        "The calibration has learned from this run, so this is how well it fits, and no prediction. "
        if has_seen
        else ""
    )
    return seen + _off_by(judged)


def _off_by(judged: Sequence[JudgedRecovery]) -> str:
    ratios = [each.ratio for each in judged if each.ratio is not None]
    if not ratios:
        return f"{len(judged)} recoveries were measured; the calibration predicts none of them."
    off = statistics.median(abs(ratio - 1) for ratio in ratios)
    predicted = [each for each in judged if each.predicted is not None]
    above = sum(each.is_above for each in predicted)
    crashes = len({each.keyed.trial.image for each in predicted})
    return (
        f"The calibration's predictions of {len(predicted)} recoveries of {crashes} crashes were off by {off:.0%} (median), from "
        f"{min(ratios):.2f} to {max(ratios):.2f} times what was measured; {above} took longer than 95 % were to take."
    )


def strata_table(judged: Sequence[JudgedRecovery]) -> ReportTable:
    """Return a table with a row for each stratum."""
    columns = [
        Column[JudgedStratum]("server", lambda row: row.server, shared=str),
        Column[JudgedStratum]("workload", lambda row: row.workload, shared="under {}".format),
        Column[JudgedStratum]("storage", lambda row: row.storage, shared="on {}".format),
        Column[JudgedStratum]("log", lambda row: row.log, right=True),
        Column[JudgedStratum]("crashes", _crashes, right=True),
        Column[JudgedStratum]("recoveries", lambda row: str(len(row.recoveries)), right=True),
        Column[JudgedStratum]("ready, s", _ready, right=True),
        Column[JudgedStratum]("median error", _error, right=True),
        Column[JudgedStratum]("predicted / measured", _span, right=True),
        Column[JudgedStratum]("above the upper end", _above, right=True),
    ]
    notes = [
        "Predicted from the age and the dirty pages at the crash. Above the upper end: of the "
        "90 % interval, so that one in twenty is expected there; with the 95 % interval of the share, as if crashes were independent."
    ]
    return ReportTable.brief("Predicted and measured", strata(judged), columns, notes)


def _crashes(row: JudgedStratum) -> str:
    return str(len({each.keyed.trial.image for each in row.recoveries}))


def _ready(row: JudgedStratum) -> str:
    ready = [each.ready for each in row.recoveries if each.ready is not None]
    never = len(row.recoveries) - len(ready)
    span = f"{min(ready):.1f}–{max(ready):.1f}" if ready else "–"
    return f"{span}, {never} never" if never else span


def _of_ratios(row: JudgedStratum, words: Callable[[list[float]], str]) -> str:
    return words(row.ratios) if row.ratios else "–"


def _error(row: JudgedStratum) -> str:
    return _of_ratios(row, lambda ratios: f"{statistics.median(abs(ratio - 1) for ratio in ratios):.0%}")


def _span(row: JudgedStratum) -> str:
    return _of_ratios(
        row,
        lambda ratios: f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f} ({min(ratios):.2f}–{max(ratios):.2f})",
    )


def _above(row: JudgedStratum) -> str:
    if not row.predicted:
        return "–"
    above = sum(each.is_above for each in row.predicted)
    low, high = coverage(above, len(row.predicted))
    return f"{above} of {len(row.predicted)} ({low:.0%}–{high:.0%})"


def recoveries_table(judged: Sequence[JudgedRecovery]) -> ReportTable:
    """Return a table with a row for each recovery: its conditions and its times."""
    columns = [
        Column[JudgedRecovery]("server", lambda row: row.keyed.trial.server, shared=str),
        Column[JudgedRecovery]("workload", lambda row: row.keyed.image.spec.workload, shared="under {}".format),
        Column[JudgedRecovery]("storage", lambda row: row.keyed.trial.storage, shared="on {}".format),
        Column[JudgedRecovery]("log", lambda row: format_size(row.keyed.trial.log_size), right=True),
        Column[JudgedRecovery]("tables", lambda row: format_size(row.keyed.image.spec.dataset.size), right=True),
        Column[JudgedRecovery]("redo", lambda row: _size(row.keyed.image.last_sample.checkpoint_age), right=True),
        Column[JudgedRecovery](
            "dirty pages", lambda row: f"{row.keyed.image.last_sample.dirty_pages or 0:,}", right=True
        ),
        Column[JudgedRecovery]("pool", lambda row: format_size(row.keyed.trial.buffer_pool), right=True),
        Column[JudgedRecovery]("batches", _batches, right=True),
        Column[JudgedRecovery]("ready, s", _outcome, right=True),
        Column[JudgedRecovery]("predicted, s", _seconds, right=True),
        Column[JudgedRecovery]("predicted / measured", _ratio, right=True),
        Column[JudgedRecovery]("", lambda row: "disturbed" if row.keyed.trial.is_disturbed else ""),
    ]
    return ReportTable.of("Every recovery", judged, columns, [])


def _outcome(row: JudgedRecovery) -> str:
    return str(row.keyed.trial.outcome) if row.ready is None else f"{row.ready:.1f}"


def _seconds(row: JudgedRecovery) -> str:
    return "–" if row.predicted is None else f"{row.predicted.seconds:.1f}"


def _ratio(row: JudgedRecovery) -> str:
    return "–" if row.ratio is None else f"{row.ratio:.2f}"


def _size(size: int | None) -> str:
    return "–" if size is None else format_size(size)


def _batches(row: JudgedRecovery) -> str:
    timeline = row.keyed.trial.timeline
    return "–" if timeline is None or timeline.batches is None else str(timeline.batches)


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
