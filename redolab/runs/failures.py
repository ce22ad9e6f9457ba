"""Failures of a run in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redolab.runs.experiment import Declaration
from redolab.runs.plan import Plan
from redolab.runs.plan_table import step_in_words
from redolab.runs.schema import FailureRecord


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
