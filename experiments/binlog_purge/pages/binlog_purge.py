"""The page of removing binary logs: whether writers wait for it, by server, file system and size of the files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from redolab.project import PROJECT
from redolab.report.contents import Page, Plot
from redolab.report.table import Column, ReportTable
from redolab.report.template import filled
from redolab.runs.confounded import confounded_with_time
from redolab.runs.default_report import configurations
from redolab.runs.machines import measured_on
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.runs.trial_results import Result
from redolab.units import format_size

from ..experiment import BinlogPurge, PurgeTrial, Removing, Server
from ..report import answer, milliseconds, plot_waits, removals_table

_TEMPLATE = Path(__file__).with_suffix(".md")


class PublishedStall(msgspec.Struct, frozen=True, kw_only=True):
    """What was published of a stall, in its own words: `binary_log` of `data/published/query-logs.toml`."""

    source: str
    file_size_before: str
    file_size_after: str
    file_system: str
    stall_seconds: str
    users_queued: int
    queries_per_second: int
    every_minutes: str
    note: str


def page(runs: Sequence[Run]) -> Page:
    """Return the page of all runs kept for it. Raises `LabError`."""
    found, results = configurations(BinlogPurge, *runs), BinlogPurge.results(*runs)
    trials = [each.trial for each in results]
    known, conditions = published(), [run.plan(BinlogPurge.plan_type()).conditions for run in runs]
    values = {
        "answer": answer(trials),
        "published": _in_words(known),
        "beside": _beside(known, results).as_markdown(),
        "waits": removals_table(found).as_markdown(),
        "clients": _each(str(each.clients) for each in conditions),
        "rate": _each(f"{each.rate:g}" for each in conditions),
        "seconds": _each(f"{each.seconds:.0f}" for each in conditions),
        "purged": _each(format_size(each.purged) for each in conditions),
        "cached": _each("left in the page cache" if each.cached else "not in the page cache" for each in conditions),
        "removals": len(trials),
        "commits": sum(each.removal_times.commits for each in trials),
        "usual": f"{sum(each.usual_commits for each in trials):,.0f}",
        "long_enough": sum(each.is_long_enough for each in trials),
        "stood_still": sum(each.stood_still for each in trials),
        "late": sum(each.removing.waits_over_100ms for each in trials),
        "statements": f"{sum(each.removing.statements for each in trials):,}",
        "late_before": sum(each.quiet.waits_over_100ms for each in trials),
        "commands": [
            command(run, BinlogPurge.factors()(), always=("server", "file_system", "storage", "file_size"))
            for run in runs
        ],
        "machines": measured_on(runs),
        "confounded": confounded_with_time(
            runs,
            BinlogPurge.plan_type(),
            {
                "servers": lambda instance: instance.server,
                "storages": lambda instance: instance.storage,
                "file systems": lambda instance: instance.file_system,
            },
        ),
        "dates": _each(f"{run.record().began:%Y-%m-%d}" for run in runs),
    }
    return Page(filled(_TEMPLATE, values), [Plot("waits", partial(plot_waits, found=found))])


def published() -> PublishedStall:
    """Return the published stall."""
    text = (PROJECT.published / "query-logs.toml").read_text()
    return msgspec.convert(tomllib.loads(text)["binary_log"], PublishedStall)


def _in_words(known: PublishedStall) -> str:
    return (
        f"{known.source}: with files of {known.file_size_before} on {known.file_system} writers waited "
        f"for {known.stall_seconds} s every {known.every_minutes} minutes, at rotations that removed an expired file; more than "
        f"{known.users_queued} users queued, at {known.queries_per_second:,} queries a second. With files of "
        f"{known.file_size_after} that ended. Its explanation: {known.note}."
    )


def _beside(known: PublishedStall, results: Sequence[Result[Server, Removing, PurgeTrial]]) -> ReportTable:
    """Return the published stall, then for each file system and size of file the longest here."""
    rows = [[known.source, known.file_system, known.file_size_before, f"{known.stall_seconds} s", "–"]]
    kinds = {(each.group.file_system, each.step.file_size_bytes) for each in results}
    for file_system, size in sorted(kinds, key=lambda kind: (kind[0], -kind[1])):
        own = [
            each.trial for each in results if (each.group.file_system, each.step.file_size_bytes) == (file_system, size)
        ]
        longest = max(each.removal_times.longest_without_commit_s for each in own)
        taken = max(each.removal_s for each in own)
        rows.append(["here", file_system, format_size(size), milliseconds(longest), milliseconds(taken)])
    headings = ("source", "file system", "size of a file", "longest without a commit", "longest removal")
    columns = [
        Column[list[str]](heading, lambda row, place=place: row[place], right=place > 1)  # type: ignore[misc]
        for place, heading in enumerate(headings)
    ]
    return ReportTable.of("Published", rows, columns, ())


def _each(values: Iterable[str]) -> str:
    """Return each once."""
    return " or ".join(dict.fromkeys(values))
