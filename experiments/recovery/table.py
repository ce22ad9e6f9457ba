"""The main table: one row a configuration, in the width of a screen."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.models.bound import Bound
from redolab.records.crash import CrashImage
from redolab.records.recovery import BACK, WINDOW
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable, number
from redolab.results.marks import Off, storage_label
from redolab.units import format_size

from .remarks import remarks
from .rows import RecoveryRow, bound_of, by_machine, recoveries_in


def recovery_table(rows: Sequence[RecoveryRow], crashes: Sequence[CrashImage], off: Off | None = None) -> ReportTable:
    """Return a table of the times to ready and their parts, with remarks."""
    marked = off or {}
    columns = [
        *machine_column(rows),
        Column[RecoveryRow]("server", _server, shared=str),
        Column[RecoveryRow]("storage", lambda row: storage_label(row, marked), shared="on {}".format),
        Column[RecoveryRow](
            "log", lambda row: format_size(row.log_size_bytes), right=True, shared="redo log {}".format
        ),
        Column[RecoveryRow](
            "pool", lambda row: format_size(row.buffer_pool_bytes), right=True, shared="pool {}".format
        ),
        Column[RecoveryRow]("settings", lambda row: row.settings, shared=str),
        *([Column[RecoveryRow]("crash", lambda row: row.crash)] if len({row.crash for row in rows}) > 1 else ()),
        Column[RecoveryRow]("redo", redo_at_crash, right=True, shared="{} of redo at the crash".format),
        Column[RecoveryRow](
            "dirty pages", lambda row: count(row.dirty_pages), right=True, shared="{} dirty pages".format, spare=True
        ),
        Column[RecoveryRow]("ready, s", _ready, right=True),
        Column[RecoveryRow]("min–max", seconds_between, right=True),
        Column[RecoveryRow]("n", _n, right=True, shared=_recoveries),
        Column[RecoveryRow]("batches", lambda row: count(row.batches), right=True),
        Column[RecoveryRow]("scan", lambda row: number(row.scan_s), right=True),
        Column[RecoveryRow]("apply", lambda row: number(row.apply_s), right=True),
        Column[RecoveryRow]("other", lambda row: number(_other(row)), right=True),
        Column[RecoveryRow]("bound by", lambda row: str(bound_of(row) or "–"), shared=_bound),
        *(_WARM if any(row.followed for row in rows) else ()),
        Column[RecoveryRow]("rollback after", lambda row: number(row.rollback_s), right=True, spare=True),
    ]
    notes = [
        "Seconds to ready: median of the recoveries; scan, apply and other (start, discover, open, accept) are of the recovery nearest "
        "to it."
    ]
    if any(row.followed for row in rows):
        notes.append(
            "first trx, 90 % again: seconds from the start of the server until clients, stopped at the crash and started anew at "
            f"ready, completed a first transaction, and until {WINDOW:g} s began with {100 * BACK:g} % of the throughput before the crash "
            "(medians, in which throughput that did not come back counts as never; docs/workloads.md)."
        )
    if any(row.scan_s is None or row.apply_s is None for row in rows):
        notes.append("A dash: the log does not say ('--all' has the reason).")
    return ReportTable.brief("Crash recovery", rows, columns, [*notes, *remarks(rows, crashes, marked)])


def machine_column(rows: Sequence[RecoveryRow]) -> list[Column[RecoveryRow]]:
    """Return the column with the machine's name, if there is more than one."""
    if len(by_machine(rows)) < 2:
        return []
    return [Column[RecoveryRow]("machine", lambda row: row.machine)]


def redo_at_crash(row: RecoveryRow) -> str:
    """Return the redo that recovery read, by its own lines, else by the last sample before the kill."""
    size = row.redo_from_recovery_bytes or row.redo_from_last_sample_bytes
    return "–" if size is None else format_size(size)


def count(number_of: int | None) -> str:
    """Return a whole number, or a dash."""
    return "–" if number_of is None else f"{number_of:,}"


def ended(row: RecoveryRow) -> str:
    """Return the failures of a row, as in `STUCK at 50 % of apply (2 of 3)`; empty without any."""
    parts = [f"{row.wrong} WRONG"] if row.wrong else []
    for outcome, times in row.bad.items():
        parts.append(f"{outcome.upper()} at {row.ended_at} ({times} of {recoveries_in(row)})")
    return ", ".join(parts)


def seconds_between(row: RecoveryRow) -> str:
    """Return the range of the times to ready, as in `12.10–13.25`; a dash for a single recovery."""
    if row.n < 2 or row.ready_min_s is None or row.ready_max_s is None:
        return "–"
    return f"{row.ready_min_s:.2f}–{row.ready_max_s:.2f}"


def _server(row: RecoveryRow) -> str:
    return server_label(row.server, row.version)


def _ready(row: RecoveryRow) -> str:
    median = [] if row.ready_median_s is None else [number(row.ready_median_s)]
    return ", ".join([*median, *filter(None, [ended(row)])])


def _bound(by: str) -> str:
    return "" if by in ("–", Bound.NEITHER) else f"bound by {by}"


def _n(row: RecoveryRow) -> str:
    return str(row.n) if row.crashes == 1 else f"{row.n} of {row.crashes} crashes"


def _recoveries(n: str) -> str:
    if n == "1":
        return "one recovery each"
    number, *crashes = n.split(maxsplit=1)
    return " ".join([number, "recoveries", *crashes, "each"])


def _other(row: RecoveryRow) -> float | None:
    """Return the seconds before ready except scan and apply; None if the log does not separate these."""
    if row.typical_ready_s is None or row.scan_s is None or row.apply_s is None:
        return None
    return row.typical_ready_s - row.scan_s - row.apply_s


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _notpm(value: str) -> str:
    return "" if value == "–" else f"{value} NOTPM before the crash"


def _again(row: RecoveryRow) -> str:
    """Return when throughput was back, or how far it got."""
    if row.back_median_s is not None:
        return number(row.back_median_s) + (f", {row.not_back} not" if row.not_back else "")
    if not row.followed or row.followed_s is None:
        return "–"
    return f"not by {row.followed_s:.0f} ({100 * (row.best_share or 0.0):.0f} %)"


_WARM = (
    Column[RecoveryRow](
        "NOTPM before", lambda row: count(_whole(row.notpm_before)), right=True, shared=_notpm, spare=True
    ),
    Column[RecoveryRow]("first trx", lambda row: number(row.first_commit_median_s), right=True),
    Column[RecoveryRow]("90 % again", _again, right=True),
)
