"""The tables of removals."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.report.table import Column, ReportTable
from redolab.units import format_size

from .results import MILLISECONDS, CellResult


def _ms(seconds: float) -> str:
    value = MILLISECONDS * seconds
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def waits_table(found: Sequence[CellResult]) -> ReportTable:
    """A row for each cell: how long writers waited before a removal and with it."""
    columns = [
        *_which(),
        Column[CellResult](
            "n", lambda row: str(len(row.trials)), right=True, shared=lambda n: f"{n} removal{'s' * (n != '1')} each"
        ),
        Column[CellResult]("removal, ms", lambda row: _ms(row.removal_s), right=True),
        Column[CellResult]("wait before, ms", lambda row: _ms(row.wait_without), right=True),
        Column[CellResult](
            "wait with, ms", lambda row: f"{_ms(row.wait_with)} ({_ms(max(row.waits_with))})", right=True
        ),
        Column[CellResult]("stood still", lambda row: f"{row.stood_still} of {row.long_enough}", right=True),
    ]
    notes = [
        "How long the removal took, and the longest wait of a statement, from when it was due, in the stretch before and in that with the "
        "removal: medians, in brackets the longest of all. Stood still: "
        "nearly all of the removal was one time without a commit; of those removals that took longer than any time without one before.",
        *_behind(found),
    ]
    return ReportTable.brief("Removing binary logs", found, columns, notes)


def commits_table(found: Sequence[CellResult]) -> ReportTable:
    """A row for each cell: what went on while files were removed, and how the files lay on the disk."""
    columns = [
        *_which(),
        Column[CellResult]("extents", lambda row: "–" if row.extents is None else f"{row.extents:g}", right=True),
        Column[CellResult]("commits", lambda row: f"{row.commits} of {row.usual_commits:.0f}", right=True),
        Column[CellResult]("gap before, ms", lambda row: _ms(row.gap_without), right=True),
        Column[CellResult]("gap, ms", lambda row: _ms(row.gap_with), right=True),
        Column[CellResult]("> 100 ms", lambda row: f"{row.many_without:.0f}, {row.many_with:.0f}", right=True),
        Column[CellResult]("slow", lambda row: f"{row.slow_seconds:.1f}", right=True, spare=True),
    ]
    notes = [
        "Commits: during all removals together, and as many as are usual in as long. Medians: extents of one file; the longest time "
        "without a commit before a removal, and of those that have a part of it. Means: statements that waited over 100 ms before and "
        "with it; seconds with less than half of the usual commits."
    ]
    return ReportTable.brief("Commits while files are removed", found, columns, notes)


def _which() -> list[Column[CellResult]]:
    return [
        Column[CellResult]("server", lambda row: row.label, shared=str),
        Column[CellResult]("storage", lambda row: row.cell.storage, shared=str),
        Column[CellResult]("on", lambda row: row.cell.file_system, shared=str),
        Column[CellResult]("removal", lambda row: str(row.cell.removal), shared=str),
        Column[CellResult](
            "files", lambda row: f"{row.cell.files} of {format_size(row.cell.file_size)}", right=True, shared=str
        ),
    ]


def _behind(found: Sequence[CellResult]) -> list[str]:
    behind = [each for each in found if not each.kept_up]
    if not behind:
        return []
    return [
        f"Behind their clients before any removal, so that waits are those of a queue: {'; '.join(each.in_words for each in behind)}."
    ]
