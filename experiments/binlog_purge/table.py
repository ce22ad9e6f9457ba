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
    """A row for each cell: how long writers waited without a removal and with one."""
    columns = [
        *_which(),
        Column[CellResult]("n", lambda row: str(len(row.trials)), right=True, shared=lambda n: f"{n} each"),
        Column[CellResult]("removed in, ms", lambda row: _ms(row.removal_s), right=True),
        Column[CellResult]("longest wait, ms: without", lambda row: _ms(row.wait_without), right=True),
        Column[CellResult]("with", lambda row: f"{_ms(row.wait_with)} ({_ms(max(row.waits_with))})", right=True),
        Column[CellResult]("longer in", lambda row: str(row.longer_in), right=True),
        Column[CellResult]("stood still", lambda row: f"{row.stood_still} of {row.long_enough}", right=True),
    ]
    notes = [
        "Medians, in brackets the longest of all. A wait counts from when the statement was due. Stood still: nearly all of the removal "
        "was one time without a commit; of those removals that took longer than any time without one before.",
        *_behind(found),
    ]
    return ReportTable.brief("Removing binary logs", found, columns, notes)


def commits_table(found: Sequence[CellResult]) -> ReportTable:
    """A row for each cell: what went on while files were removed, and how the files lay on the disk."""
    columns = [
        *_which(),
        Column[CellResult](
            "extents a file", lambda row: "–" if row.extents is None else f"{row.extents:g}", right=True
        ),
        Column[CellResult]("commits during it", lambda row: f"{row.commits:g}", right=True),
        Column[CellResult]("ms without a commit: before", lambda row: _ms(row.gap_without), right=True),
        Column[CellResult]("at the removal", lambda row: _ms(row.gap_with), right=True),
        Column[CellResult](
            "waits > 100 ms: without, with", lambda row: f"{row.many_without:.1f}, {row.many_with:.1f}", right=True
        ),
        Column[CellResult]("slow seconds", lambda row: f"{row.slow_seconds:.1f}", right=True),
    ]
    notes = [
        "Medians; means of the statements that waited over 100 ms and of the seconds with less than half of the usual commits."
    ]
    return ReportTable.brief("Commits while files are removed", found, columns, notes)


def _which() -> list[Column[CellResult]]:
    return [
        Column[CellResult]("server", lambda row: row.label, shared=str),
        Column[CellResult]("storage", lambda row: row.cell.storage, shared=str),
        Column[CellResult]("file system", lambda row: row.cell.file_system, shared=str),
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
