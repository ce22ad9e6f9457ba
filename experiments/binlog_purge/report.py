"""Report on purges of binary logs: the answer, the table and the picture of a run, or of several together."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from redolab.report.contents import Report
from redolab.report.numbers import number, span
from redolab.report.quantities import quantities_of
from redolab.report.table import Column, ReportTable
from redolab.runs.default_report import Configuration, configurations, configurations_table
from redolab.runs.paired_plot import paired_plots
from redolab.runs.store import Run

from .experiment import BinlogPurge, PurgeTrial

_KEPT_UP = 0.95
_MILLISECONDS = 1000


def report(run: Run) -> Report:
    """Return the answer, the table and the plot of a run. Raises `LabError` if its trials cannot be read."""
    found = configurations(BinlogPurge, run)
    longest = answer([each for row in found for each in row.trials])
    waits = ("longest_wait_without_s", "longest_wait_with_s")
    return Report(
        answer=longest,
        tables=[purges_table(found)],
        plots=paired_plots("waits", found, waits, "file size", ("server",), longest),
    )


def answer(trials: Sequence[PurgeTrial]) -> str:
    """Return the longest time without a commit, as a sentence."""
    if not trials:
        return "Nothing was measured."
    longest = max(each.removal.longest_without_commit_s for each in trials)
    before = max(each.quiet.longest_without_commit_s for each in trials)
    return (
        f"In {len(trials)} purges of binary logs no time without a commit was longer than {milliseconds(longest)} "
        f"({milliseconds(before)} before one)."
    )


def milliseconds(seconds: float) -> str:
    """Return a text such as `3.4 ms` or `120 ms`."""
    value = _MILLISECONDS * seconds
    return f"{number(value, 1 if value < 10 else 0)} ms"


def purges_table(found: Sequence[Configuration]) -> ReportTable:
    """Return a row for each configuration: duration of the purge, and waits of writers before and with it."""
    more = [
        Column[Configuration]("stood still", _stood_still, right=True),
        Column[Configuration]("commits", _commits, right=True, spare=True),
        Column[Configuration]("extents", lambda row: span(_extents(row), 0, "–"), right=True, spare=True),
    ]
    notes = [
        "wait: the longest of a statement, from when it was due, in the window before a purge and in the window with it. no commit: "
        "the longest time without a commit that overlaps a purge.",
        "stood still: nearly all of the purge was one time without a commit; of the purges that took longer than any time without a "
        "commit before. commits: during all purges together, and as usual in a time as long. extents: of one file.",
        *_behind(found),
    ]
    return configurations_table("Purges", found, quantities_of(PurgeTrial), notes, more)


def _stood_still(row: Configuration) -> str:
    long_enough = [each for each in row.trials if each.is_long_enough]
    return f"{sum(each.stood_still for each in long_enough)} of {len(long_enough)}"


def _commits(row: Configuration) -> str:
    usual = sum(each.usual_commits for each in row.trials)
    return f"{sum(each.removal.commits for each in row.trials)} of {usual:.0f}"


def _extents(row: Configuration) -> list[int]:
    return [count for each in row.trials for count in each.files.extents or ()]


def _behind(found: Sequence[Configuration]) -> list[str]:
    """Name the configurations that did not keep up with their clients before any purge."""
    behind = [
        ", ".join(row.factors.values())
        for row in found
        if statistics.median(each.kept_up for each in row.trials) < _KEPT_UP
    ]
    if not behind:
        return []
    return [f"Behind their clients before any purge, so that waits are those of a queue: {'; '.join(behind)}."]
