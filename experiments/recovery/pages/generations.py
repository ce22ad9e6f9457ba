"""The page of all servers: each with a full log, and each with the same redo."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redolab.records.crash import filled_to
from redolab.report.contents import Page
from redolab.report.labels import server_label
from redolab.report.template import filled
from redolab.results.crashes import crashes_of
from redolab.runs.store import Run
from redolab.units import format_size

from ..rows import RecoveryRow
from .tables import on_page

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page of two runs: one killed at the same age on every server, the other with every log filled up."""
    same = next(run for run in runs if "kill_at" in run.record().options)
    full = next(run for run in runs if "kill_at" not in run.record().options)
    shown_same, shown_full = on_page(same), on_page(full)
    by_time = sorted(
        (row for row in shown_same.rows if row.ready_median_s is not None), key=lambda row: row.ready_median_s or 0.0
    )
    by_pages = sorted(shown_same.rows, key=lambda row: row.dirty_pages or 0)
    ages = [row.redo_from_last_sample_bytes or 0 for row in shown_full.rows]
    values = {
        "same": shown_same,
        "full": shown_full,
        "filled_to": filled_to(crashes_of(full)),
        "fastest": _row_in_words(by_time[0]),
        "slowest": _row_in_words(by_time[-1]),
        "fewest_pages": _pages(by_pages[0]),
        "most_pages": _pages(by_pages[-1]),
        "least_redo": format_size(min(ages)),
        "most_redo": format_size(max(ages)),
        "worst_spread": max(_spread(row) for row in [*shown_same.rows, *shown_full.rows]),
    }
    return Page(filled(_TEMPLATE, values), [shown_same.phases("same"), shown_full.phases("full")])


def _row_in_words(row: RecoveryRow) -> str:
    return f"{row.ready_median_s:.1f} s ({server_label(row.server, row.version)})"


def _pages(row: RecoveryRow) -> str:
    return f"{row.dirty_pages or 0:,} ({server_label(row.server, row.version)})"


def _spread(row: RecoveryRow) -> float:
    """From the shortest to the longest recovery of a row, as a share of the median."""
    if not row.ready_median_s or row.ready_min_s is None or row.ready_max_s is None:
        return 0.0
    return (row.ready_max_s - row.ready_min_s) / row.ready_median_s
