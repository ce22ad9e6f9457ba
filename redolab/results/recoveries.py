"""Recoveries of a run: each trial with its crash image, the return of its clients and its consistency checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.crash.records.crash import CrashImage
from redolab.crash.records.recovery import RecoveryTrial, WarmRecord, WarmTime
from redolab.crash.records.verdict import Judgement
from redolab.errors import LabError
from redolab.report.intervals import median_of_known
from redolab.results.crashes import crashes_of
from redolab.runs.schema import TrialRecord
from redolab.runs.store import Run

WARM = "warm"
"""Name of the run's records of clients' returns."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """A trial of a recovery, joined with its crash image, the return of its clients and its checks."""

    record: TrialRecord[RecoveryTrial]
    image: CrashImage
    warm: WarmTime | None = None
    """Return of the clients; None if they were not started anew, or did not return."""
    judgement: Judgement | None = None
    """Consistency checks; None if the server was not ready, or the checks were stopped."""

    @property
    def trial(self) -> RecoveryTrial:
        """Measurements of the trial."""
        return self.record.trial


def median_back(followed: Sequence[WarmTime]) -> float | None:
    """Return the median seconds until throughput was back, over all recoveries whose clients were followed."""
    return median_or_never([each.back for each in followed])


def median_or_never(seconds: Sequence[float | None]) -> float | None:
    """Return the median of seconds until something happened, where None counts as never.

    None: it did not happen in half of the cases, or there is no case.
    """
    median = median_of_known([math.inf if each is None else each for each in seconds])
    return None if median is None or math.isinf(median) else median


def recoveries_of(run: Run) -> list[Recovery]:
    """Return the recoveries that count, in the order of measurement. Raises `LabError`."""
    images = {image.name: image for image in crashes_of(run)}
    judged = {(each.position, each.attempt): each.verdict for each in run.verdicts(Judgement)}
    warm = {(each.position, each.attempt): each.warm for each in run.lines(WARM, WarmRecord)}
    found = []
    for record in run.trials(RecoveryTrial):
        image, step = images.get(record.trial.image), (record.position, record.attempt)
        if image is None:
            raise LabError(
                f"the run {run.name} has no record of its crash {record.trial.image}",
                "leave that run out: what its recoveries had to do is not known",
            )
        found.append(Recovery(record, image, warm.get(step), judged.get(step)))
    return found
