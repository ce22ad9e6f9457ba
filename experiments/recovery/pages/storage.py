"""The page of storages: the same crashes recovered on each."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redolab.crashes.bench import checks_of
from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.runs.store import Run
from redolab.storage.known import HOME
from redolab.storage.table import disks_table

from ..plots import plot_matrix
from ..rows import RecoveryRow
from .tables import on_page

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page of the last run kept for it, and its picture."""
    run = runs[-1]
    shown = on_page(run)
    storages = list(dict.fromkeys(row.storage for row in shown.rows))
    penalties = {storage: _penalty(shown.rows, storage) for storage in storages}
    values = {
        "shown": shown,
        "penalties": {storage: penalty for storage, penalty in penalties.items() if penalty is not None},
        "slowest": max((name for name in storages if penalties[name]), key=lambda name: penalties[name] or 0.0),
        "home": HOME,
        "disks": disks_table(checks_of(run)).as_markdown(),
    }
    matrix = Plot("matrix", partial(plot_matrix, rows=shown.rows, title=shown.answer, off=shown.off))
    return Page(filled(_TEMPLATE, values), [matrix])


def _penalty(rows: Sequence[RecoveryRow], storage: str) -> float | None:
    """How many times as long recovery takes with the smallest pool as with the largest: the median of the servers."""
    on_it = [row for row in rows if row.storage == storage and row.ready_median_s is not None]
    ratios = []
    for server in dict.fromkeys(row.server for row in on_it):
        by_pool = sorted((row for row in on_it if row.server == server), key=lambda row: row.buffer_pool_bytes)
        if len(by_pool) > 1:
            ratios.append((by_pool[0].ready_median_s or 0.0) / (by_pool[-1].ready_median_s or 1.0))
    return statistics.median(ratios) if ratios else None
