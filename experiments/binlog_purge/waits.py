"""From statements with the moments at which they were due and acknowledged to what clients met: pure functions of numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from redolab.workloads.paced import PacedStatement

from .trial import RemovalTimes, Stretch

_LONG = 0.1


def stretch(statements: Sequence[PacedStatement], began: float, ended: float) -> Stretch:
    """What was met from one moment to another, both in seconds of the monotonic clock.

    All that was due in it must be among the statements: one that has no answer yet would pass for none at all.
    """
    waits = [each.waited for each in statements if began <= each.due < ended]
    acknowledged = [each.done - began for each in statements if began <= each.done < ended]
    whole = int(ended - began)
    return Stretch(
        seconds=ended - began,
        statements=len(waits),
        longest_wait_s=max(waits, default=0.0),
        waits_over_100ms=sum(each > _LONG for each in waits),
        longest_without_commit_s=max(gap for _, gap in _gaps(statements, began, ended)),
        commits=tuple(sum(second <= each < second + 1 for each in acknowledged) for second in range(whole)),
    )


def removal_times(statements: Sequence[PacedStatement], began: float, ended: float, until: float) -> RemovalTimes:
    """What a removal from `began` to `ended` did to the commits; `until`: the end of what is looked at."""
    first = max((each.done for each in statements if each.done < began), default=began)
    overlapping = [gap for start, gap in _gaps(statements, first, until) if start < ended and start + gap > began]
    return RemovalTimes(
        seconds=ended - began,
        commits=sum(began <= each.done < ended for each in statements),
        longest_within_s=max(gap for _, gap in _gaps(statements, began, ended)),
        longest_without_commit_s=max(overlapping, default=0.0),
    )


def _gaps(statements: Sequence[PacedStatement], began: float, ended: float) -> list[tuple[float, float]]:
    """Beginning and length of every time without an acknowledgement, those to the two ends included."""
    moments = [began, *sorted(each.done for each in statements if began <= each.done <= ended), ended]
    return [(start, end - start) for start, end in itertools.pairwise(moments)]
