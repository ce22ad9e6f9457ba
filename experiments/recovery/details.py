"""Detailed tables, shown on request: every phase of each row, and the resources that bounded it."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.errorlog import Phase
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable, number
from redolab.results.marks import MARK, Off, is_late, storage_label
from redolab.units import KIB, format_size

from .rows import RecoveryRow, bound_of, by_machine
from .table import count, ended, machine_column


def _which(rows: Sequence[RecoveryRow], off: Off) -> list[Column[RecoveryRow]]:
    """Return the columns that identify a row."""
    return [
        *machine_column(rows),
        Column[RecoveryRow]("server", lambda row: server_label(row.server, row.version)),
        Column[RecoveryRow]("storage", lambda row: storage_label(row, off)),
        Column[RecoveryRow]("log", lambda row: format_size(row.log_size_bytes), right=True),
        Column[RecoveryRow]("pool", lambda row: format_size(row.buffer_pool_bytes), right=True),
        Column[RecoveryRow]("settings", lambda row: row.settings or "–"),
    ]


def phases_table(rows: Sequence[RecoveryRow], off: Off) -> ReportTable:
    """Return a table of every phase, with the reasons of those that are blank."""
    notes = [
        "Seconds, of the recovery nearest to the median. 'redo': the recovery's own end LSN less its checkpoint LSN; in brackets the "
        "same from the last sample before the SIGKILL. docs/recovery.md has every column."
    ]
    for row in rows:
        blank = f"blank: {row.why_blank}" if row.why_blank else ""
        if said := "; ".join(part for part in (blank, row.notes) if part):
            notes.append(f"{_name(row, several=len(by_machine(rows)) > 1)}: {said}.")
    return ReportTable.of("Phases", rows, [*_which(rows, off), *_PHASES], list(dict.fromkeys(notes)))


def _name(row: RecoveryRow, *, several: bool) -> str:
    parts = [
        row.machine if several else "",
        server_label(row.server, row.version),
        row.storage,
        f"log {format_size(row.log_size_bytes)}",
        f"pool {format_size(row.buffer_pool_bytes)}",
        row.settings,
    ]
    return ", ".join(part for part in parts if part)


def _redo(row: RecoveryRow) -> str:
    sampled = "–" if row.redo_from_last_sample_bytes is None else format_size(row.redo_from_last_sample_bytes)
    recovered = "–" if row.redo_from_recovery_bytes is None else format_size(row.redo_from_recovery_bytes)
    return f"{recovered} ({sampled})"


def _dirty(row: RecoveryRow) -> str:
    undo = "" if row.undo_pages is None else f" ({count(min(row.undo_pages, row.dirty_pages or 0))})"
    return count(row.dirty_pages) + undo


def _ready(row: RecoveryRow) -> str:
    parts = []
    if row.ready_median_s is not None:
        parts.append(f"{row.ready_median_s:.2f} ({row.ready_min_s:.2f}–{row.ready_max_s:.2f}) of {row.n}")
    return ", ".join([*parts, *filter(None, [ended(row)])])


_PHASES = [
    Column[RecoveryRow]("redo (last sample)", _redo, right=True),
    Column[RecoveryRow]("dirty pages (undo up to)", _dirty, right=True),
    Column[RecoveryRow]("pages read", lambda row: count(row.pages_read), right=True),
    Column[RecoveryRow]("ready, s: median (min–max) of n", _ready, right=True),
    Column[RecoveryRow]("batches", lambda row: count(row.batches), right=True),
    Column[RecoveryRow]("start", lambda row: number(row.start_s), right=True),
    Column[RecoveryRow]("discover", lambda row: number(row.discover_s), right=True),
    Column[RecoveryRow]("scan", lambda row: number(row.scan_s), right=True),
    Column[RecoveryRow]("apply", lambda row: number(row.apply_s), right=True),
    Column[RecoveryRow]("open", lambda row: number(row.open_s), right=True),
    Column[RecoveryRow]("accept", lambda row: number(row.accept_s), right=True),
    Column[RecoveryRow]("rollback after ready", lambda row: number(row.rollback_s), right=True),
]


def _range(phase: Phase) -> Column[RecoveryRow]:
    def cell(row: RecoveryRow) -> str:
        if str(phase) not in row.ranges:
            return "–"
        least, most = row.ranges[str(phase)]
        return f"{least:.2f}–{most:.2f}"

    return Column(f"{phase}, s", cell, right=True)


def _requests(requests: int, size: int) -> str:
    mean = f", {size / requests / KIB:.0f} KiB each" if requests else ""
    return f"{requests:,} of {size / 1e6:,.0f} MB{mean}"


_LIMITS = [
    Column[RecoveryRow]("ready, s", lambda row: number(row.typical_ready_s), right=True),
    Column[RecoveryRow]("bound by", lambda row: str(bound_of(row) or "–")),
    Column[RecoveryRow]("CPU, s", lambda row: number(row.cpu_s), right=True),
    Column[RecoveryRow]("busiest thread, s", lambda row: number(row.busiest_thread_s), right=True),
    Column[RecoveryRow]("the lab's CPU, s", lambda row: number(row.lab_cpu_s), right=True),
    Column[RecoveryRow](
        "disk busy, s", lambda row: "–" if row.device is None else f"{row.device.busy:.2f}", right=True
    ),
    Column[RecoveryRow]("queue", lambda row: "–" if row.device is None else f"{row.device.queue:.1f}", right=True),
    Column[RecoveryRow](
        "reads",
        lambda row: "–" if row.device is None else _requests(row.device.reads, row.device.read_bytes),
        right=True,
    ),
    Column[RecoveryRow](
        "writes",
        lambda row: "–" if row.device is None else _requests(row.device.writes, row.device.written_bytes),
        right=True,
    ),
    *(_range(phase) for phase in (Phase.SCAN, Phase.APPLY, Phase.OPEN)),
    Column[RecoveryRow]("late", lambda row: "–" if row.late_share is None else f"{row.late_share:.1%}", right=True),
]


def limits_table(rows: Sequence[RecoveryRow], off: Off) -> ReportTable:
    """Return a table of the use of disk and CPUs in each row."""
    notes = [
        "From the start to ready, in the recovery nearest to the median; scan, apply and open: the shortest and the longest of all. "
        "'queue': mean number of requests in flight while there were any. docs/storage.md says what 'bound by' means."
    ]
    if any(is_late(row) for row in rows):
        notes.append(
            f"'late': how much later than the modelled disk the disk model answered, as a share of all its latencies; over 10 % the "
            f"storage is marked {MARK}."
        )
    return ReportTable.of("Limits", rows, [*_which(rows, off), *_LIMITS], notes)
