"""Report on purges of binary logs: the answer, the table and the picture of a run, or of several together."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redolab.report.contents import Plot, Report
from redolab.report.numbers import number, span
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save
from redolab.report.quantities import quantities_of
from redolab.report.table import Column, ReportTable
from redolab.runs.default_report import Configuration, configurations, configurations_table
from redolab.runs.store import Run
from redolab.runs.trial_results import rows_of
from redolab.units import format_size

from .experiment import BinlogPurge, PurgeTrial

_KEPT_UP = 0.95
_MILLISECONDS = 1000
_LONG_MS = 100


def report(run: Run) -> Report:
    """Return the answer, the table and the plot of a run. Raises `LabError` if its trials cannot be read."""
    found = configurations(BinlogPurge, run)
    return Report(
        answer=answer(trials_of(found)),
        tables=[removals_table(found)],
        rows={"table": rows_of(BinlogPurge.results(run))},
        plots=[Plot("waits", partial(plot_waits, found=found))] if found else [],
    )


def trials_of(found: Sequence[Configuration]) -> list[PurgeTrial]:
    """Return all trials of some configurations."""
    return [each.trial for of in found for each in of.results]


def answer(trials: Sequence[PurgeTrial]) -> str:
    """Return the longest time without a commit, as a sentence."""
    if not trials:
        return "Nothing was measured."
    longest = max(each.removal_times.longest_without_commit_s for each in trials)
    before = max(each.quiet.longest_without_commit_s for each in trials)
    return (
        f"In {len(trials)} removals of binary logs no time without a commit was longer than {milliseconds(longest)} "
        f"({milliseconds(before)} before one)."
    )


def milliseconds(seconds: float) -> str:
    """Return a text such as `3.4 ms` or `120 ms`."""
    value = _MILLISECONDS * seconds
    return f"{number(value, 1 if value < 10 else 0)} ms"


def removals_table(found: Sequence[Configuration]) -> ReportTable:
    """Return a row for each configuration: duration of the purge, and waits of writers before and with it."""
    more = [
        Column[Configuration]("stood still", _stood_still, right=True),
        Column[Configuration]("commits", _commits, right=True, spare=True),
        Column[Configuration]("extents", lambda row: span(_extents(row), 0, "–"), right=True, spare=True),
    ]
    notes = [
        "wait: the longest of a statement, from when it was due, in the window before a removal and in that with it. no commit: the "
        "longest time without one that has a part of the removal in it.",
        "stood still: nearly all of the removal was one time without a commit; of the removals that took longer than any time without "
        "one before. commits: during all removals together, and as many as are usual in as long. extents: of one file.",
        *_behind(found),
    ]
    return configurations_table("Removals", found, quantities_of(PurgeTrial), notes, more)


def _stood_still(row: Configuration) -> str:
    long_enough = [each for each in trials_of([row]) if each.is_long_enough]
    return f"{sum(each.stood_still for each in long_enough)} of {len(long_enough)}"


def _commits(row: Configuration) -> str:
    trials = trials_of([row])
    return f"{sum(each.removal_times.commits for each in trials)} of {sum(each.usual_commits for each in trials):.0f}"


def _extents(row: Configuration) -> list[int]:
    return [count for each in trials_of([row]) for count in each.lying.extents or ()]


def _behind(found: Sequence[Configuration]) -> list[str]:
    """Name the configurations that did not keep up with their clients before any purge."""
    behind = [
        ", ".join(each.factors.values())
        for each in found
        if statistics.median(trial.kept_up for trial in trials_of([each])) < _KEPT_UP
    ]
    return (
        [f"Behind their clients before any removal, so that waits are those of a queue: {'; '.join(behind)}."]
        if behind
        else []
    )


def plot_waits(folder: Path, found: Sequence[Configuration]) -> None:
    """Draw the longest wait before and with a purge: a panel a file size, a row a server (`waits.svg`)."""
    servers = list(dict.fromkeys(each.factors["server"] for each in found))
    sizes = sorted({each.results[0].step.file_size_bytes for each in found}, reverse=True)
    figure, panels = plt.subplots(
        1,
        len(sizes),
        figsize=(WIDTH, 1.9 + 0.5 * len(servers)),
        sharex=True,
        sharey=True,
        layout="constrained",
        squeeze=False,
    )
    for panel, size in zip(panels.flat, sizes, strict=True):
        own = [each for each in found if each.results[0].step.file_size_bytes == size]
        rows = [servers.index(each.factors["server"]) for each in own]
        for name, label, colour, shift in (
            ("longest_wait_without_s", "before a removal", MODEL, -0.2),
            ("longest_wait_with_s", "with it", MEASURED, 0.2),
        ):
            medians = [statistics.median(each.values(name)) for each in own]
            panel.plot(medians, [row + shift for row in rows], "o", color=colour, markerfacecolor="white", label=label)
        panel.axvline(_LONG_MS, color=LIMIT, linestyle="--", linewidth=1)
        panel.set_xscale("log")
        panel.set_xlabel("longest wait of a statement, ms", fontsize="small")
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        panel.grid(visible=True, axis="x", color="#DDDDDD", linewidth=0.5)
    panels[0][0].set_yticks(range(len(servers)), servers)
    panels[0][0].set_ylim(len(servers) - 0.5, -0.5)
    figure.legend(
        *panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small", frameon=False
    )
    head(figure, answer(trials_of(found)).removesuffix("."), "")
    for panel, size in zip(panels.flat, sizes, strict=True):
        panel.set_title(f"files of {format_size(size)}", fontsize="medium", loc="left", color=MODEL)
    save(figure, folder / "waits")
