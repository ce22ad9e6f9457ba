"""Failures during a run: recorded, so that the rest can be measured, until there are too many."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from redolab.errors import DiskFull, FindingsMade, InvalidInput, LabError, StepsFailed, StorageLost
from redolab.progress import Progress
from redolab.runs.failures import in_words
from redolab.runs.plan import Plan
from redolab.runs.schema import FailureRecord
from redolab.runs.store import Run

STOPPING = (InvalidInput, DiskFull, StorageLost, FindingsMade)
"""Errors that every further step would raise too, or that are no failures."""
ENOUGH = 3
"""Number of failures in a row that are no accident."""
_LAST_LINES = 15


@dataclass(frozen=True, slots=True)
class StepStart:
    """Start of an operation that may fail: its time, and the logs and evidence present."""

    when: datetime
    monotonic: float
    there: frozenset[str]


class Failing:
    """Failures of one session of a run."""

    def __init__(self, run: Run, plan: Plan[Any, Any, Any], session: int, progress: Progress) -> None:
        self._run = run
        self._plan = plan
        self._session = session
        self._progress = progress
        self._in_a_row = 0

    def begun(self) -> StepStart:
        """Return the state before an operation that may fail."""
        return StepStart(datetime.now(UTC), time.monotonic(), frozenset(self._run.left_by_steps()))

    def went_well(self) -> None:
        """Reset the count of failures in a row."""
        self._in_a_row = 0

    def record(self, error: LabError, begun: StepStart, position: int | None, group: int, attempt: int) -> None:
        """Record a failure of a step, or of a group (no position), and print it.

        Raises `StepsFailed` if there are too many.
        """
        failure = FailureRecord(
            position=position,
            group=group,
            attempt=attempt,
            session=self._session,
            when=begun.when,
            took=time.monotonic() - begun.monotonic,
            problem=error.problem,
            remedy=error.remedy,
            details=error.details[-_LAST_LINES:],
            evidence=tuple(sorted(self._run.left_by_steps() - begun.there)),
        )
        self._run.add_failure(failure)
        self._progress.note(f"FAILED: {in_words(failure, self._plan)}: {error}")
        self._in_a_row += 1
        if self._in_a_row == ENOUGH:
            raise StepsFailed(
                f"{ENOUGH} failures in a row, the last: {error.problem}", error.remedy, error.details
            ) from error
