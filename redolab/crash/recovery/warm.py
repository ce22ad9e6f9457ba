"""Warm-up: time until clients of a crashed server have their throughput back. Pure functions of their reports."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.crash.records.recovery import BACK, WINDOW, WarmTime
from redolab.workloads.data import WorkloadMoment

BEFORE = 60.0
"""Seconds before the crash over which the usual throughput is averaged."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Mean rates, a second."""

    commits: float
    new_orders: float | None
    """New-Order transactions of TPC-C."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Interval that one report covers; monotonic seconds, commits a second."""

    begin: float
    end: float
    rate: float


def mean_before(moments: Sequence[WorkloadMoment]) -> Throughput | None:
    """Return the mean of the last `BEFORE` seconds; None if too little was reported.

    The first report only marks the beginning of the second one.
    """
    if len(moments) < 2:
        return None
    end = moments[-1].monotonic
    counted = [
        (moment, moment.monotonic - before.monotonic)
        for before, moment in itertools.pairwise(moments)
        if before.monotonic >= end - BEFORE
    ]
    seconds = sum(each for _, each in counted)
    if seconds <= 0:
        return None
    orders = [
        moment.new_orders_per_second * each for moment, each in counted if moment.new_orders_per_second is not None
    ]
    return Throughput(
        commits=sum(moment.commits_per_second * each for moment, each in counted) / seconds,
        new_orders=sum(orders) / seconds if len(orders) == len(counted) else None,
    )


def warm_time(
    moments: Sequence[WorkloadMoment], before: Throughput, *, server_started: float, clients_started: float
) -> WarmTime:
    """Return the clients' warm-up, as far as they have reported; all times monotonic."""
    stretches = _stretches(moments, clients_started)
    back, best = _back(stretches, BACK * before.commits)
    first = next((moment.monotonic for moment in moments if moment.commits_per_second > 0), None)
    return WarmTime(
        commits_before=before.commits,
        new_orders_before=before.new_orders,
        clients_started=clients_started - server_started,
        first_commit=None if first is None else first - server_started,
        back=None if back is None else max(back, first or back) - server_started,
        best_share=best / before.commits if before.commits else 0.0,
        followed=(moments[-1].monotonic if moments else clients_started) - server_started,
    )


def _stretches(moments: Sequence[WorkloadMoment], began: float) -> list[_Stretch]:
    # A report counts from the one before it.
    begins = [began, *(moment.monotonic for moment in moments)]
    return [
        _Stretch(begin, moment.monotonic, moment.commits_per_second)
        for begin, moment in zip(begins, moments, strict=False)
        if moment.monotonic > begin
    ]


def _back(stretches: Sequence[_Stretch], wanted: float) -> tuple[float | None, float]:
    """Return the beginning of the first window with the wanted mean, or None; and the best mean of any window."""
    best, last = 0.0, 0
    within = 0.0
    for first, stretch in enumerate(stretches):
        end = stretch.begin + WINDOW
        while last < len(stretches) and stretches[last].end <= end:
            within += _commits(stretches[last])
            last += 1
        if last == len(stretches) and stretches[-1].end < end:
            break
        part = 0.0 if last == len(stretches) else stretches[last].rate * max(0.0, end - stretches[last].begin)
        mean = (within + part) / WINDOW
        best = max(best, mean)
        if mean >= wanted:
            return stretch.begin, best
        if last > first:
            within -= _commits(stretch)
        else:
            last = first + 1
    return None, best


def _commits(stretch: _Stretch) -> float:
    return stretch.rate * (stretch.end - stretch.begin)
