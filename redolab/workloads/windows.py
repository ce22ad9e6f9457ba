"""Windows of a load: clients' latencies and commits in each, by single statements or by reports of seconds."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from redolab.errors import WorkloadFailed

if TYPE_CHECKING:
    from redolab.workloads.numbered import Second
    from redolab.workloads.paced import PacedStatement

_LONG = 0.1
_SLOW = 0.5
"""Share of the usual throughput: a second with less is slow."""


class CommitWindow(msgspec.Struct, frozen=True, kw_only=True):
    """Latencies and commits of clients in one window; a statement belongs to the window in which it was due."""

    seconds: float
    statements: int
    longest_wait_s: float
    """Longest time of a statement from when it was due to its acknowledgement."""
    waits_over_100ms: int
    """Number of statements that took longer than 100 ms from when they were due."""
    longest_without_commit_s: float
    """The longest time in which no client's commit was acknowledged."""
    commits: tuple[int, ...]
    """Commits acknowledged in each whole second of the window."""

    def slow_seconds(self, usual: CommitWindow) -> int:
        """Return the number of whole seconds with less than half of the commits of a usual second."""
        half = _SLOW * statistics.median_high(usual.commits) if usual.commits else 0.0
        return sum(each < half for each in self.commits)


def commit_window(statements: Sequence[PacedStatement], began: float, ended: float) -> CommitWindow:
    """Return the window from `began` to `ended`, in monotonic seconds.

    `statements` must hold all that were due in it: one without an answer yet would be missed.
    """
    waits = [each.waited for each in statements if began <= each.due < ended]
    acknowledged = [each.done - began for each in statements if began <= each.done < ended]
    return CommitWindow(
        seconds=ended - began,
        statements=len(waits),
        longest_wait_s=max(waits, default=0.0),
        waits_over_100ms=sum(each > _LONG for each in waits),
        longest_without_commit_s=max(gap for _, gap in commit_gaps(statements, began, ended)),
        commits=tuple(
            sum(second <= each < second + 1 for each in acknowledged) for second in range(int(ended - began))
        ),
    )


def commit_gaps(statements: Sequence[PacedStatement], began: float, ended: float) -> list[tuple[float, float]]:
    """Return the start and length of every time without an acknowledgement, including those at the two ends."""
    moments = [began, *sorted(each.done for each in statements if began <= each.done <= ended), ended]
    return [(start, end - start) for start, end in itertools.pairwise(moments)]


class ReportedWindow(msgspec.Struct, frozen=True, kw_only=True):
    """Window of a load whose clients report seconds instead of statements."""

    seconds: int
    per_second: float
    """Median of the statements answered in a second."""
    longest_ms: float
    """Longest latency of a statement in milliseconds, from the time at which it was due."""
    slow_seconds: int
    """Seconds in which less than half of the load's median was answered."""


def reported_window(seconds: Sequence[Second], first: int, length: int) -> ReportedWindow:
    """Return the window of `length` seconds from number `first` on. Raises `WorkloadFailed` if one is missing."""
    inside = [each for each in seconds if first <= each.number < first + length]
    if len(inside) != length:
        raise WorkloadFailed(
            f"the clients reported {len(inside)} of the {length} seconds from second {first} on",
            "the machine is too busy for this RATE",
        )
    usual = statistics.median(each.per_second for each in seconds)
    return ReportedWindow(
        seconds=length,
        per_second=statistics.median(each.per_second for each in inside),
        longest_ms=max(each.longest_ms for each in inside),
        slow_seconds=sum(each.per_second < _SLOW * usual for each in inside),
    )
