"""Warm-up: time until clients of a crashed server have their throughput back. Pure functions of their reports."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from redolab.crash.records.recovery import BACK, WINDOW, WarmTime
from redolab.workloads.data import WorkloadReport

BEFORE = 60.0
"""Seconds before the crash over which the usual throughput is averaged."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Mean rates, a second."""

    commits: float
    new_orders: float | None
    """New-Order transactions of TPC-C."""


def mean_before(reports: Sequence[WorkloadReport]) -> Throughput | None:
    """Return the mean of the last `BEFORE` seconds; None if too little was reported.

    The first report only marks the beginning of the second one.
    """
    if len(reports) < 2:
        return None
    end = reports[-1].monotonic
    counted = [
        (report, report.monotonic - before.monotonic)
        for before, report in itertools.pairwise(reports)
        if before.monotonic >= end - BEFORE
    ]
    seconds = sum(each for _, each in counted)
    if seconds <= 0:
        return None
    orders = [
        report.new_orders_per_second * each for report, each in counted if report.new_orders_per_second is not None
    ]
    return Throughput(
        commits=sum(report.commits_per_second * each for report, each in counted) / seconds,
        new_orders=sum(orders) / seconds if len(orders) == len(counted) else None,
    )


def warm_time(
    reports: Sequence[WorkloadReport], before: Throughput, *, server_started: float, clients_started: float
) -> WarmTime:
    """Return the clients' warm-up, as far as they have reported; all times monotonic."""
    back, best = _back(reports, clients_started, BACK * before.commits)
    first = next((report.monotonic for report in reports if report.commits_per_second > 0), None)
    return WarmTime(
        commits_before=before.commits,
        new_orders_before=before.new_orders,
        clients_started=clients_started - server_started,
        first_commit=None if first is None else first - server_started,
        back=None if back is None else max(back, first or back) - server_started,
        best_share=best / before.commits if before.commits else 0.0,
        followed=(reports[-1].monotonic if reports else clients_started) - server_started,
    )


def _back(reports: Sequence[WorkloadReport], began: float, wanted: float) -> tuple[float | None, float]:
    """Return the beginning of the first window with the wanted mean, or None; and the best mean of the windows up to it."""
    # A report counts from the one before it.
    times = np.array([began, *(report.monotonic for report in reports)])
    rates = np.array([report.commits_per_second for report in reports])
    commits = np.concatenate([[0.0], np.cumsum(rates * np.diff(times))])
    begins = times[times + WINDOW <= times[-1]]
    means = (np.interp(begins + WINDOW, times, commits) - np.interp(begins, times, commits)) / WINDOW
    reached = np.flatnonzero(means >= wanted)
    if not len(reached):
        return None, float(means.max(initial=0.0))
    return float(begins[reached[0]]), float(means[: reached[0] + 1].max())
