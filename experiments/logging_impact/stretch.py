"""What the reports of a stretch come to: pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from redolab.workloads.data import WorkloadMoment


def mean_rate(rates: Sequence[float]) -> float:
    """The mean of what was counted each second."""
    return statistics.fmean(rates)


def latency_99(moments: Sequence[WorkloadMoment]) -> float | None:
    """Milliseconds: the median over the reports of the 99th percentile in each; None where no report has one."""
    known = [each.latency_99_ms for each in moments if each.latency_99_ms is not None]
    return statistics.median(known) if known else None
