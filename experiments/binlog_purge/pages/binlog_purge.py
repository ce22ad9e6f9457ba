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
from redolab.runs.machines import measured_on
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.units import format_size

from ..factors import Factors
from ..planned import PurgePlan
from ..plots import plot_waits
from ..results import CellResult, answer, milliseconds, results
from ..table import commits_table, waits_table
from ..trial import PurgeTrial

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
    """The page of all runs kept for it. Raises `LabError`."""
    trials = [record.trial for run in runs for record in run.trials(PurgeTrial)]
    found, known = results(trials), published()
    values = {
        "answer": answer(found),
        "published": _in_words(known),
        "beside": _beside(known, found).as_markdown(),
        "waits": waits_table(found).as_markdown(),
        "commits": commits_table(found).as_markdown(),
        "extents": _extents(found),
        "clients": _each(str(trial.clients) for trial in trials),
        "rate": _each(f"{trial.rate:g}" for trial in trials),
        "seconds": _each(f"{trial.quiet.seconds:.0f}" for trial in trials),
        "purged": _each(format_size(trial.cell.purged) for trial in trials),
        "cached": _each("left in the page cache" if trial.cell.cached else "not in the page cache" for trial in trials),
        "removals": len(trials),
        "long_enough": sum(each.long_enough for each in found),
        "commands": [command(run, Factors(), always=("server", "file_system", "storage", "file_size")) for run in runs],
        "machines": measured_on(runs),
        "confounded": confounded_with_time(
            runs,
            PurgePlan,
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
    """The published stall."""
    text = (PROJECT.published / "query-logs.toml").read_text()
    return msgspec.convert(tomllib.loads(text)["binary_log"], PublishedStall)


def _in_words(known: PublishedStall) -> str:
    return (
        f"{known.source}: with files of {known.file_size_before} on {known.file_system} writers waited "
        f"for {known.stall_seconds} s every {known.every_minutes} minutes, at rotations that removed an expired file; more than "
        f"{known.users_queued} users queued, at {known.queries_per_second:,} queries a second. With files of "
        f"{known.file_size_after} that ended. Its explanation: {known.note}."
    )


def _beside(known: PublishedStall, found: Sequence[CellResult]) -> ReportTable:
    """The published stall, then for each file system and size of file what is longest here."""
    rows = [[known.source, known.file_system, known.file_size_before, f"{known.stall_seconds} s", "–"]]
    kinds = dict.fromkeys((each.cell.file_system, each.cell.file_size) for each in found)
    for file_system, size in sorted(kinds, key=lambda kind: (kind[0], -kind[1])):
        cells = [each for each in found if (each.cell.file_system, each.cell.file_size) == (file_system, size)]
        longest = max(trial.removal.longest_without_commit_s for each in cells for trial in each.trials)
        taken = max(trial.removal.seconds for each in cells for trial in each.trials)
        rows.append(["here", file_system, format_size(size), milliseconds(longest), milliseconds(taken)])
    headings = ("source", "file system", "size of a file", "longest without a commit", "longest removal")
    columns = [
        Column[list[str]](heading, lambda row, place=place: row[place], right=place > 1)  # type: ignore[misc]
        for place, heading in enumerate(headings)
    ]
    return ReportTable.of("Published", rows, columns, ())


def _extents(found: Sequence[CellResult]) -> str:
    """In how many pieces the files lay, by file system."""
    parts = []
    for file_system in dict.fromkeys(each.cell.file_system for each in found):
        for size in sorted({each.cell.file_size for each in found}, reverse=True):
            counts = sorted(
                count
                for each in found
                if (each.cell.file_system, each.cell.file_size) == (file_system, size)
                for trial in each.trials
                for count in trial.files.extents or ()
            )
            if counts:
                parts.append(f"{file_system}, {format_size(size)}: {counts[0]} to {counts[-1]}")
    return f"Extents of one file: {'; '.join(parts)}." if parts else ""


def _each(values: Iterable[str]) -> str:
    """Each once."""
    return " or ".join(dict.fromkeys(values))
