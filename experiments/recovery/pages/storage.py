"""The page of storages: the same crashes recovered on each."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redolab.crashes.bench import checks_of, crashes_of
from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.runs.store import Run
from redolab.storage.known import HOME
from redolab.storage.table import disks_table

from ..plots import plot_matrix
from ..rows import RecoveryRow
from .tables import on_page

_TEMPLATE = Path(__file__).with_suffix(".md")


_WORKLOAD = "bulk-update"
"""Whose crashes are compared: those of another make other redo, and take other times."""


def page(runs: Sequence[Run]) -> Page:
    """The page of all runs together, and its picture."""
    alike = [run for run in runs if {image.spec.workload for image in crashes_of(run)} == {_WORKLOAD}]
    shown = on_page(*sorted(alike, key=_smallest_log))
    storages = list(dict.fromkeys(row.storage for row in shown.rows))
    penalties = {storage: _penalty(shown.rows, storage) for storage in storages}
    known = {storage: times for storage in storages if (times := _slower(shown.rows, storage)) is not None}
    slower = dict(sorted(known.items(), key=lambda entry: entry[1]))
    least, *_, most = slower
    values = {
        "shown": shown,
        "penalties": {storage: penalty for storage, penalty in penalties.items() if penalty is not None},
        "slowest": max((name for name in storages if penalties[name]), key=lambda name: penalties[name] or 0.0),
        "home": HOME,
        "slower": slower,
        "disks": disks_table(checks_of(alike[-1])).as_markdown(),
    }
    title = f"Recovery took {slower[least]:.1f} ({least}) to {slower[most]:.1f} times ({most}) as long as on the machine's own disk."
    order = [HOME, *slower]
    rows = sorted(shown.rows, key=lambda row: order.index(row.storage) if row.storage in order else len(order))
    matrix = Plot("matrix", partial(plot_matrix, rows=rows, title=title, off=shown.off))
    return Page(filled(_TEMPLATE, values), [matrix])


def _smallest_log(run: Run) -> int:
    return min((image.spec.instance.log_size for image in crashes_of(run)), default=0)


def _slower(rows: Sequence[RecoveryRow], storage: str) -> float | None:
    """How many times as long as at home recovery takes on it: the median of the cells; None of the home itself."""
    cells = {
        (row.server, row.log_size_bytes, row.buffer_pool_bytes): row.ready_median_s
        for row in rows
        if row.storage == HOME and row.ready_median_s
    }
    ratios = [
        row.ready_median_s / at_home
        for row in rows
        if row.storage == storage != HOME and row.ready_median_s
        if (at_home := cells.get((row.server, row.log_size_bytes, row.buffer_pool_bytes)))
    ]
    return statistics.median(ratios) if ratios else None


def _penalty(rows: Sequence[RecoveryRow], storage: str) -> float | None:
    """How many times as long recovery takes with the smallest pool as with the largest: the median of servers and logs."""
    on_it = [row for row in rows if row.storage == storage and row.ready_median_s is not None]
    ratios = []
    for cell in dict.fromkeys((row.server, row.log_size_bytes) for row in on_it):
        own = [row for row in on_it if (row.server, row.log_size_bytes) == cell]
        by_pool = sorted(own, key=lambda row: row.buffer_pool_bytes)
        if len(by_pool) > 1:
            ratios.append((by_pool[0].ready_median_s or 0.0) / (by_pool[-1].ready_median_s or 1.0))
    return statistics.median(ratios) if ratios else None
