"""Windows of a load: clients' latencies and commits in a time span, and windows with an event compared with others."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from redolab.models.intervals import median_interval

_LONG = 0.1
_SLOW = 0.5


class Acknowledged(Protocol):
    """A statement; seconds of the monotonic clock."""

    @property
    def due(self) -> float:
        """Time at which it was to be sent."""

    @property
    def done(self) -> float:
        """Time at which it was acknowledged."""


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
        ordered = sorted(usual.commits)
        half = _SLOW * ordered[len(ordered) // 2] if ordered else 0.0
        return sum(each < half for each in self.commits)


def commit_window(statements: Sequence[Acknowledged], began: float, ended: float) -> CommitWindow:
    """Return the window from `began` to `ended`, in monotonic seconds.

    `statements` must hold all that were due in it: one without an answer yet would be missed.
    """
    waits = [each.done - each.due for each in statements if began <= each.due < ended]
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


def commit_gaps(statements: Sequence[Acknowledged], began: float, ended: float) -> list[tuple[float, float]]:
    """Return the start and length of every time without an acknowledgement, including those at the two ends."""
    moments = [began, *sorted(each.done for each in statements if began <= each.done <= ended), ended]
    return [(start, end - start) for start, end in itertools.pairwise(moments)]


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Median difference between windows with an event and the windows beside them."""

    median: float
    low: float
    high: float
    """Upper end of the 95 % interval of the median, from `low`; both NaN for fewer than six pairs."""

    @property
    def is_significant(self) -> bool:
        """True if the interval excludes zero."""
        return self.low > 0 or self.high < 0


def paired_difference(pairs: Sequence[tuple[float, float]]) -> PairedDifference:
    """Compare pairs of (with, without)."""
    differences = [with_it - without for with_it, without in pairs]
    return PairedDifference(statistics.median(differences), *median_interval(differences))
