"""Recoveries of a run: each trial with the return of its clients and its consistency checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.models.intervals import median_of_known
from redolab.records.recovery import RecoveryTrial, WarmRecord, WarmTime
from redolab.records.verdict import Judgement
from redolab.runs.schema import TrialRecord
from redolab.runs.store import Run

WARM = "warm"
"""Name of the run's records of clients' returns."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """A recovery, and the state of the server after it."""

    record: TrialRecord[RecoveryTrial]
    warm: WarmTime | None = None
    """Return of the clients; None if they were not started anew, or did not return."""
    judgement: Judgement | None = None
    """Consistency checks; None if the server was not ready, or the checks were stopped."""

    @property
    def trial(self) -> RecoveryTrial:
        """Measurements of the trial."""
        return self.record.trial

    @property
    def is_wrong(self) -> bool:
        """True if the server failed a consistency check."""
        return self.judgement is not None and bool(self.judgement.failed_checks)


def median_back(followed: Sequence[WarmTime]) -> float | None:
    """Return the median seconds until throughput was back, over all recoveries whose clients were followed.

    Throughput that did not come back counts as never. None if it did not come back in half of them, or none was
    followed.
    """
    median = median_of_known([math.inf if each.back is None else each.back for each in followed])
    return None if median is None or math.isinf(median) else median


def recoveries_of(run: Run) -> list[Recovery]:
    """Return the recoveries that count, in the order of measurement. Raises `LabError`."""
    judged = {(each.position, each.attempt): each.verdict for each in run.verdicts(Judgement)}
    warm = {(each.position, each.attempt): each.warm for each in run.lines(WARM, WarmRecord)}
    return [
        Recovery(record, warm.get((record.position, record.attempt)), judged.get((record.position, record.attempt)))
        for record in run.trials(RecoveryTrial)
    ]
