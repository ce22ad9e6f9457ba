"""Test for a steady load: a pure function of the clients' reports."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from redolab.crash.records.kill_rule import SteadyRule
from redolab.workloads.data import WorkloadMoment

_SILENT = 3.0
"""Seconds without a report after which it may be a stall."""


def is_steady(moments: Sequence[WorkloadMoment], rule: SteadyRule, now: float) -> bool:
    """Return True if two consecutive windows up to the last report have throughputs as close as the rule demands.

    False after a long silence: a program may report nothing for a time in which no transaction ended.
    """
    if not moments or now - moments[-1].monotonic > _SILENT:
        return False
    rates = last_windows(moments, rule)
    return rates is not None and abs(rates[1] - rates[0]) <= rule.within * max(rates) and max(rates) > 0


def last_windows(moments: Sequence[WorkloadMoment], rule: SteadyRule) -> tuple[float, float] | None:
    """Return the commits a second in the last two windows; None before there are two after the warm-up."""
    window = rule.window
    if not moments or moments[-1].monotonic - moments[0].monotonic < rule.soonest:
        return None
    end = moments[-1].monotonic
    before, last = (_mean(moments, end - places * window, window) for places in (2, 1))
    return before, last


def _mean(moments: Sequence[WorkloadMoment], begin: float, seconds: float) -> float:
    """Return the mean commits a second of the reports that ended in that time; each counts from the one before it."""
    counted = [
        moment.commits_per_second * (moment.monotonic - previous.monotonic)
        for previous, moment in itertools.pairwise(moments)
        if begin < moment.monotonic <= begin + seconds
    ]
    return sum(counted) / seconds
