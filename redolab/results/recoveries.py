"""The recoveries of a run: each trial with what came after it, the clients' return and the judge's verdict."""

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
"""The lines of a run that tell what clients met."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """A recovery, and what is known of the server that it gave."""

    record: TrialRecord[RecoveryTrial]
    warm: WarmTime | None = None
    """None where the workload's clients were not started anew, or did not return."""
    judgement: Judgement | None = None
    """None where nobody has judged it: of one that did not end in a server that is ready, and of one that was broken off then."""

    @property
    def trial(self) -> RecoveryTrial:
        """What was measured."""
        return self.record.trial

    @property
    def is_wrong(self) -> bool:
        """Whether the server did not hold what it must."""
        return self.judgement is not None and bool(self.judgement.failed_checks)


def median_back(followed: Sequence[WarmTime]) -> float | None:
    """Return the median seconds until throughput was back, over all recoveries whose clients were followed.

    Throughput that did not come back counts as never. None: it did not come back in half of them, or none was followed.
    """
    median = median_of_known([math.inf if each.back is None else each.back for each in followed])
    return None if median is None or math.isinf(median) else median


def recoveries_of(run: Run) -> list[Recovery]:
    """The recoveries that count, in the order of measuring. Raises `LabError`."""
    judged = {(each.position, each.attempt): each.verdict for each in run.verdicts(Judgement)}
    warm = {(each.position, each.attempt): each.warm for each in run.lines(WARM, WarmRecord)}
    return [
        Recovery(record, warm.get((record.position, record.attempt)), judged.get((record.position, record.attempt)))
        for record in run.trials(RecoveryTrial)
    ]
