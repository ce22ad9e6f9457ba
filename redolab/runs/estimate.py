"""Estimate of a plan's duration, from earlier runs on this machine; none without comparable measurements."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from redolab.errors import LabError
from redolab.machine.facts import Machine
from redolab.machine.machine_class import machine_classes
from redolab.runs.plan import Plan
from redolab.runs.schema import Finding
from redolab.runs.store import Run, RunStore
from redolab.units import format_duration

NOTHING_KNOWN = "no estimate yet: no earlier run of this kind on this machine"


@dataclass(frozen=True, slots=True)
class TimeEstimate:
    """Estimated seconds, and the part of the plan without a comparable measurement."""

    seconds: float
    parts: int
    """Number of steps, and of groups to be made."""
    unknown: int
    """Number of parts without a comparable measurement.

    Such a step counts as the mean of the others, such a group as 0 s.
    """

    def in_words(self) -> str:
        """Return the estimate as in `about 12 min 3 s`."""
        about = f"about {format_duration(self.seconds)}"
        return about if not self.unknown else f"{about} (a guess for {self.unknown} of {self.parts} parts)"


class CostRecord(msgspec.Struct, frozen=True):
    """Cost keys and duration of a step or group: the fields of a trial's record that an estimate reads."""

    cost_keys: tuple[str, ...] = ()
    took: float | None = None
    session: int = 0
    findings: tuple[Finding, ...] = ()


class Experience:
    """Durations of steps and groups by cost key, the newest last."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = defaultdict(list)

    @classmethod
    def of_runs(cls, store: RunStore, machine: Machine) -> Experience:
        """Return the durations of runs on machines of this one's class."""
        experience, readable = cls(), store.readable()[0]
        sessions = [each for _, record in readable for each in record.sessions]
        own, *others = machine_classes([machine, *(each.machine for each in sessions)])
        classes = iter(others)
        for run, record in readable:
            here = {position for position, of_it in enumerate([next(classes) for _ in record.sessions]) if of_it == own}
            for took in _took(run) if here else ():
                if took.session in here:
                    experience.learn(took.cost_keys, took.took)
        return experience

    def learn(self, cost_keys: Iterable[str], seconds: float | None) -> None:
        """Add a measured duration."""
        if seconds is not None:
            for each in cost_keys:
                self._seconds[each].append(seconds)

    def seconds(self, cost_keys: Iterable[str]) -> float | None:
        """Return the median duration of the first known key; None if none is known."""
        return next((statistics.median(self._seconds[each]) for each in cost_keys if each in self._seconds), None)

    def estimate(
        self, plan: Plan[Any, Any, Any], positions: Sequence[int], groups: Iterable[int]
    ) -> TimeEstimate | None:
        """Return the duration of the steps at these indexes and of making these groups; None if no step is known."""
        known = [self.seconds(plan.cost_keys(plan.steps[position])) for position in positions]
        measured = [seconds for seconds in known if seconds is not None]
        if not measured:
            return None
        making = [self.seconds(plan.groups[group].cost_keys()) for group in groups]
        unknown = len(known) - len(measured)
        whole = sum(measured) + unknown * statistics.fmean(measured) + sum(seconds or 0.0 for seconds in making)
        return TimeEstimate(whole, len(known) + len(making), unknown + sum(seconds is None for seconds in making))


def in_words(estimate: TimeEstimate | None) -> str:
    """Return the estimate in words, also if there is none."""
    return NOTHING_KNOWN if estimate is None else estimate.in_words()


def _took(run: Run) -> list[CostRecord]:
    try:
        made = [
            CostRecord(each.cost_keys, each.seconds, session=each.session) for each in run.group_records() if each.made
        ]
        # Only these fields of a trial are read: trials of other experiments have other fields.
        return [*made, *(each for each in run.lines("trials", CostRecord) if not each.findings)]
    except LabError:
        return []
