"""Accuracy of a calibration on recoveries that it was not trained on, with the facts that its user would have."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.errors import InvalidInput
from redolab.grouping import by_key
from redolab.predict.asking import model_of
from redolab.predict.calibration import Calibration
from redolab.predict.demand import Demand
from redolab.predict.question import Model, Question
from redolab.predict.recovery import Prediction, recovery_at
from redolab.predict.usual import UsualRecovery, usual_ages, usual_crashes, usual_recovery
from redolab.report.intervals import median_of_known
from redolab.report.labels import server_label
from redolab.results.alike import Keyed
from redolab.units import format_size


@dataclass(frozen=True, slots=True)
class JudgedRecovery:
    """A measured recovery, and its prediction from the crash's age and dirty pages."""

    keyed: Keyed
    predicted: Prediction | None
    """The prediction; None if the calibration does not know the server or the storage."""

    @property
    def server(self) -> str:
        """Name and version of the server."""
        return server_label(self.keyed.trial.server, self.keyed.trial.version)

    @property
    def ready(self) -> float | None:
        """Seconds to ready; None if the server never was."""
        return self.keyed.trial.ready_s

    @property
    def batches(self) -> int | None:
        """Number of apply batches; None if the log does not show it."""
        return None if self.keyed.trial.timeline is None else self.keyed.trial.timeline.batches

    @property
    def ratio(self) -> float | None:
        """Predicted over measured; None unless both are known."""
        return None if self.predicted is None or self.ready is None else self.predicted.seconds / self.ready

    @property
    def is_above(self) -> bool:
        """True if it took longer than the predicted 95 % upper bound, or never ended."""
        return self.predicted is not None and (self.ready is None or self.ready > self.predicted.ninety[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPredictions:
    """Recoveries, and their predictions by one calibration."""

    recoveries: Sequence[JudgedRecovery]

    @property
    def predicted(self) -> list[JudgedRecovery]:
        """Recoveries with a prediction."""
        return [each for each in self.recoveries if each.predicted is not None]

    @property
    def ready(self) -> list[float]:
        """Seconds of the recoveries that ended."""
        return [each.ready for each in self.recoveries if each.ready is not None]

    @property
    def ratios(self) -> list[float]:
        """Predicted over measured, of recoveries with both."""
        return [each.ratio for each in self.recoveries if each.ratio is not None]

    @property
    def above(self) -> int:
        """Number of predicted recoveries beyond their 95 % upper bound."""
        return sum(each.is_above for each in self.predicted)

    @property
    def bias(self) -> float:
        """Geometric mean of predicted over measured."""
        return math.exp(statistics.fmean(map(math.log, self.ratios)))

    @property
    def median_error(self) -> float:
        """Median error as a share of the measured time."""
        return statistics.median(abs(ratio - 1) for ratio in self.ratios)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedStratum(JudgedPredictions):
    """Recoveries of one server under one workload on one storage with one log size."""

    server: str
    workload: str
    storage: str
    log: str
    planned: UsualRecovery | None = None
    """Recovery planned for a crash at a random time, without a look at the load; None if not asked for, or if the
    calibration knows no ages of such a load, or not the server or the storage.
    """

    @property
    def half_ready(self) -> float | None:
        """Median seconds of the recoveries that ended; None if none did."""
        return median_of_known(self.ready)

    @property
    def planned_ratio(self) -> float | None:
        """Planned median over the measured one."""
        half = self.half_ready
        return None if self.planned is None or half is None else self.planned.half_s / half

    @property
    def above_planned(self) -> int:
        """Number of recoveries beyond the planned 95 % upper bound, or without an end."""
        if self.planned is None:
            return 0
        return sum(each.ready is None or each.ready > self.planned.ninety_five_s for each in self.recoveries)


def judged_recoveries(recoveries: Sequence[Keyed], calibration: Calibration) -> list[JudgedRecovery]:
    """Return every recovery with its prediction, for a person who sees the server right before the crash."""
    return [JudgedRecovery(each, _predicted(each, calibration)) for each in recoveries]


def _predicted(each: Keyed, calibration: Calibration) -> Prediction | None:
    server, workload, last = (
        calibration.servers.get(each.trial.server),
        each.image.spec.workload,
        each.image.last_sample,
    )
    is_known = server is not None and workload in server.workloads
    model = _model(each, calibration, workload if is_known else None, last.dirty_pages)
    return None if model is None else recovery_at(model, each.trial.log_size, last.checkpoint_age or 1)


def _model(each: Keyed, calibration: Calibration, workload: str | None, dirty_pages: int | None = None) -> Model | None:
    """Return the model of a recovery; None if the calibration does not know the server, workload or storage."""
    question = Question(
        server=each.trial.server,
        storage=each.trial.storage,
        pool=each.trial.buffer_pool,
        workload=workload,
        dirty_pages=dirty_pages,
        binary_log=each.image.binary_log_bytes or 0,
    )
    try:
        return model_of(question, calibration, each.trial.storage)
    except InvalidInput:
        return None


def strata(judged: Sequence[JudgedRecovery], calibration: Calibration | None = None) -> list[JudgedStratum]:
    """Return recoveries grouped by server, workload, storage and log size, in the order of measurement.

    With a calibration, each with the recovery planned for a random crash.
    """
    return [
        JudgedStratum(
            recoveries=own,
            server=server,
            workload=workload,
            storage=storage,
            log=log,
            planned=None if calibration is None else _planned(own[0].keyed, calibration),
        )
        for (server, workload, storage, log), own in by_key(judged, _stratum).items()
    ]


def _stratum(each: JudgedRecovery) -> tuple[str, str, str, str]:
    trial = each.keyed.trial
    return each.server, each.keyed.image.spec.workload, trial.storage, format_size(trial.log_size)


def _planned(one: Keyed, calibration: Calibration) -> UsualRecovery | None:
    """Return the recovery planned from the checkpoint ages and dirty pages of loads of this kind in the calibration."""
    model = _model(one, calibration, one.image.spec.workload)
    if model is None:
        return None
    # Only ages are asked for, and the peak redo does not affect them.
    ages = usual_ages(model, Demand(redo_per_hour=math.nan, source=""))
    return None if ages is None else usual_recovery(usual_crashes(model, one.trial.log_size, ages), math.inf)
