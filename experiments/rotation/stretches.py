"""Seconds that the clients reported, as stretches: pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from redolab.errors import WorkloadFailed
from redolab.workloads.numbered import Second

from .trial import Stretch

_SLOW = 0.5


def stretch(seconds: Sequence[Second], first: int, length: int) -> Stretch:
    """The stretch of so many seconds from that one on, of all that were reported. Raises `WorkloadFailed` if some are not there."""
    inside = [each for each in seconds if first <= each.number < first + length]
    if len(inside) != length:
        raise WorkloadFailed(
            f"sysbench reported {len(inside)} of the {length} seconds from its second {first} on",
            "the machine is too busy for this RATE",
        )
    usual = statistics.median(each.per_second for each in seconds)
    return Stretch(
        seconds=length,
        per_second=statistics.median(each.per_second for each in inside),
        longest_ms=max(each.longest_ms for each in inside),
        slow_seconds=sum(each.per_second < _SLOW * usual for each in inside),
    )
