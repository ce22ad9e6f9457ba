"""Failures of a run: recorded, so that the rest can be measured, until there are too many; and in words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from redolab.errors import DiskFull, FindingsMade, InvalidInput, LabError, StepsFailed, StorageLost
from redolab.progress import Progress
from redolab.runs.experiment import Declaration
from redolab.runs.plan import Plan
from redolab.runs.plan_table import step_in_words
from redolab.runs.schema import FailureRecord
from redolab.runs.store import Run

STOPPING = (InvalidInput, DiskFull, StorageLost, FindingsMade)
"""Errors that every further step would raise too, or that are no failures."""
ENOUGH = 3
"""Number of failures in a row that are no accident."""
_DETAILS = 15
"""Last lines of a log or a program's output that a record keeps."""


@dataclass(frozen=True, slots=True)
class StepStart:
    """Start of an operation that may fail: its time, and the logs and evidence present."""

    when: datetime
    monotonic: float
    files: frozenset[str]


class Failing:
    """Failures of one session of a run."""

    def __init__(self, run: Run, plan: Plan[Any, Any, Any], session: int, progress: Progress) -> None:
        self._run = run
        self._plan = plan
        self._session = session
        self._progress = progress
        self._in_a_row = 0

    def start(self) -> StepStart:
        """Return the state before an operation that may fail."""
        return StepStart(datetime.now(UTC), time.monotonic(), frozenset(self._run.left_by_steps()))

    def went_well(self) -> None:
        """Reset the count of failures in a row."""
        self._in_a_row = 0

    def record(self, error: LabError, start: StepStart, position: int | None, group: int, attempt: int) -> None:
        """Record a failure of a step, or of a group (no position), and print it.

        Raises `StepsFailed` if there are too many.
        """
        failure = FailureRecord(
            position=position,
            group=group,
            attempt=attempt,
            session=self._session,
            when=start.when,
            took=time.monotonic() - start.monotonic,
            problem=error.problem,
            remedy=error.remedy,
            details=error.details[-_DETAILS:],
            evidence=tuple(sorted(self._run.left_by_steps() - start.files)),
        )
        self._run.add_failure(failure)
        self._progress.note(f"FAILED: {in_words(failure, self._plan)}: {error}")
        self._in_a_row += 1
        if self._in_a_row == ENOUGH:
            raise StepsFailed(
                f"{ENOUGH} failures in a row, the last: {error.problem}", error.remedy, error.details
            ) from error


def in_words(failure: FailureRecord, plan: Plan[Any, Any, Any]) -> str:
    """Return the name of the failed step or group."""
    if failure.position is None:
        return ", ".join(f"{what} {value}" for what, value in plan.groups[failure.group].described().items())
    return step_in_words(plan, failure.position)


def how_many(failures: Sequence[FailureRecord], experiment: type[Declaration], plan: Plan[Any, Any, Any]) -> str:
    """Return counts as in `2 of 12 recoveries and 1 of 2 crashes failed`."""
    groups = sum(failure.position is None for failure in failures)
    parts = [
        f"{count} of {noun.of(total)}"
        for count, noun, total in (
            (len(failures) - groups, experiment.step_noun, len(plan.steps)),
            (groups, experiment.group_noun, len(plan.groups)),
        )
        if count
    ]
    return f"{' and '.join(parts)} failed"
