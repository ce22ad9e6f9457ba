"""Crash time: bring the checkpoint age of an instance to the value wanted at the crash."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence

from redolab.crash.records.kill_rule import STOPPED_GROWING, KillRule, SteadyRule, Uniform
from redolab.servers.redo_capacity import RedoCapacity
from redolab.servers.redo_counters import Sample
from redolab.units import MIB, format_duration, format_size
from redolab.workloads.data import WorkloadReport

SELDOM = 0.25
_OFTEN = 0.01
PATIENCE = 20.0
"""Seconds without a new largest age after which the age counts as no longer growing."""
_NEAR_ITS_PEAK = 0.97
_RATE_WINDOW = 10.0
_SILENT = 3.0
"""Seconds without a report of the clients after which it may be a stall."""


class Fill:
    """Decides when to crash a server whose log is filling. Times are monotonic seconds, ages bytes."""

    def __init__(self, rule: KillRule, capacity: RedoCapacity, began: float, moment: float | None = None) -> None:
        """Begin to follow. `began`: start of the load; `moment`: seconds after it, if the rule draws the crash time."""
        self._rule = rule
        self._capacity = capacity
        self._began = began
        self._moment = moment
        self._recent: deque[tuple[float, int]] = deque()
        self._peak = 0
        self._peak_at = began
        self._first_lsn: int | None = None
        self._reports: list[WorkloadReport] = []
        self._heard = False
        """True if there are reports that no decision has used yet."""

    def hear(self, reports: Sequence[WorkloadReport]) -> None:
        """Take in the clients' reports since the last call."""
        self._reports += reports
        self._heard = self._heard or bool(reports)

    def reason_to_kill(self, sample: Sample) -> str | None:
        """Return the reason to crash now, or None. Call it with ever later samples."""
        age = sample.checkpoint_age or 0
        self._recent.append((sample.monotonic, sample.lsn or 0))
        while sample.monotonic - self._recent[0][0] > _RATE_WINDOW:
            self._recent.popleft()
        if age > self._peak:
            self._peak, self._peak_at = age, sample.monotonic
        if self._first_lsn is None:
            self._first_lsn = sample.lsn
        if self._heard and self.is_steady(sample):
            return "the load was steady"
        self._heard = False
        if self._rule.after is not None and sample.monotonic - self._began >= self._rule.after:
            return f"{format_duration(self._rule.after)} of the workload had passed"
        if self._moment is not None and sample.monotonic - self._began >= self._moment:
            return f"its moment had come, drawn from {_between(self._rule.moment)}"
        target = self._rule.target_age(sample, self._capacity)
        return None if target is None else self._reason_of_age(age, target, sample.monotonic)

    def _reason_of_age(self, age: int, target: int, now: float) -> str | None:
        if age >= target:
            return f"the checkpoint age had reached its target of {format_size(target)}"
        waited = now - self._peak_at
        stands = waited > 3 * PATIENCE or (waited > PATIENCE and age >= self._peak * _NEAR_ITS_PEAK)
        if stands and self._rule.after is None:
            return (
                f"the checkpoint age {STOPPED_GROWING} at {format_size(self._peak)}, "
                f"short of its target of {format_size(target)}"
            )
        return None

    def is_steady(self, sample: Sample) -> bool:
        """Return True if the load is steady by the rule; False if there is no such rule."""
        rule = self._rule.steady
        return (
            rule is not None
            and self._fillings(sample) >= rule.fillings
            and is_steady(self._reports, rule, sample.monotonic)
        )

    def _fillings(self, sample: Sample) -> float:
        """Return how often the load has filled the log: bytes of redo by the age at which statements wait."""
        limit = sample.hard_limit or self._capacity.hard_limit
        return ((sample.lsn or 0) - (self._first_lsn or 0)) / limit

    def pause(self, sample: Sample) -> float:
        """Return the seconds to wait before the next decision: the nearer the target, the fewer.

        The kill then comes at the target and not past it. Goals of time or of the clients' reports need no haste, and
        looking disturbs the measurement.
        """
        left = self.seconds_left(sample)
        if left is None or self._rule.wants_no_age:
            return SELDOM
        return min(SELDOM, max(_OFTEN, left / 4))

    def progress(self, sample: Sample) -> tuple[float, float]:
        """Return the progress and the goal: bytes of checkpoint age, or seconds."""
        target = self._rule.target_age(sample, self._capacity)
        if target is None:
            passed = sample.monotonic - self._began
            return passed, passed + (self.seconds_left(sample) or 0.0)
        return sample.checkpoint_age or 0, target

    def rate(self) -> float:
        """Return the bytes of LSN a second over the last seconds."""
        (first_at, first), (last_at, last) = self._recent[0], self._recent[-1]
        return (last - first) / (last_at - first_at) if last_at > first_at else 0.0

    def seconds_left(self, sample: Sample) -> float | None:
        """Return the seconds left at the present rate; None while they cannot be predicted."""
        ends = [seconds for seconds in (self._rule.after, self._moment) if seconds is not None]
        of_time = [max(0.0, seconds - (sample.monotonic - self._began)) for seconds in ends]
        if self._rule.steady is not None:
            of_time.append(self._seconds_to_steady(self._rule.steady, sample))
        target = self._rule.target_age(sample, self._capacity)
        if target is not None and self.rate() > 0:
            of_time.append(max(0.0, target - (sample.checkpoint_age or 0)) / self.rate())
        return min(of_time, default=None)

    def _seconds_to_steady(self, rule: SteadyRule, sample: Sample) -> float:
        """Return the least number of seconds until the load can be steady."""
        limit = sample.hard_limit or self._capacity.hard_limit
        missing = max(0.0, rule.fillings - self._fillings(sample)) * limit
        filled = missing / self.rate() if self.rate() > 0 else 0.0
        return max(0.0, filled, rule.soonest - (sample.monotonic - self._began))

    def words(self, sample: Sample) -> str:
        """Return the line beside the progress bar."""
        left = self.seconds_left(sample)
        target = self._rule.target_age(sample, self._capacity)
        parts = [
            f"age {format_size(sample.checkpoint_age or 0)}" + (f" of {format_size(target)}" if target else ""),
            f"{self.rate() / MIB:.0f} MiB/s of LSN",
            f"{self._reports[-1].commits_per_second:.0f} commits/s" if self._reports else "",
            f"{format_duration(left)} left" if left is not None else "",
        ]
        return " · ".join(part for part in parts if part)


def _between(moments: Uniform | None) -> str:
    """Return a range such as `5 min to 30 min`."""
    return "" if moments is None else f"{format_duration(moments.earliest)} to {format_duration(moments.latest)}"


def is_steady(reports: Sequence[WorkloadReport], rule: SteadyRule, now: float) -> bool:
    """Return True if two consecutive windows up to the last report have throughputs as close as the rule demands.

    False after a long silence: a program may report nothing for a time in which no transaction ended.
    """
    if not reports or now - reports[-1].monotonic > _SILENT:
        return False
    rates = last_windows(reports, rule)
    return rates is not None and abs(rates[1] - rates[0]) <= rule.within * max(rates) and max(rates) > 0


def last_windows(reports: Sequence[WorkloadReport], rule: SteadyRule) -> tuple[float, float] | None:
    """Return the commits a second in the last two windows; None before there are two after the warm-up."""
    window = rule.window
    if not reports or reports[-1].monotonic - reports[0].monotonic < rule.soonest:
        return None
    end = reports[-1].monotonic
    before, last = (_mean(reports, end - places * window, window) for places in (2, 1))
    return before, last


def _mean(reports: Sequence[WorkloadReport], begin: float, seconds: float) -> float:
    """Return the mean commits a second of the reports that ended in that time; each counts from the one before it."""
    counted = [
        report.commits_per_second * (report.monotonic - previous.monotonic)
        for previous, report in itertools.pairwise(reports)
        if begin < report.monotonic <= begin + seconds
    ]
    return sum(counted) / seconds
