"""The tables of turns, and of what clients met while the log's size was changed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from redolab.records.turns import Resize
from redolab.report.table import SCREEN, Column, ReportTable
from redolab.results.turns import TurnsResult
from redolab.units import KIB, MIB, format_duration, format_size


@dataclass(frozen=True)
class _OfCell:
    """What a row is of."""

    cell: TurnsResult


R = TypeVar("R", bound=_OfCell)


@dataclass(frozen=True)
class _OfSize(_OfCell):
    """The turns of a cell with one size of the log."""

    size: int


@dataclass(frozen=True)
class _Direction(_OfCell):
    """The changes of a cell in one direction."""

    changes: Sequence[Resize]


def turns_table(found: Sequence[TurnsResult], widest: int = SCREEN) -> ReportTable:
    """A row for each cell and size."""
    rows = [_OfSize(cell, size) for cell in found for size in cell.sizes]
    columns = [
        *_which(rows),
        Column[_OfSize]("log", lambda row: format_size(row.size)),
        Column[_OfSize](
            "throughput", lambda row: f"{row.cell.median(row.size, lambda turn: turn.rate):,.0f}", right=True
        ),
        Column[_OfSize]("of the smaller (95 %)", _gain, right=True),
        Column[_OfSize]("p95, ms", lambda row: _of(row, "latency_95_ms", 1, 1), right=True),
        Column[_OfSize]("worst s", lambda row: _of(row, "worst_second", 0.01, 0, "%"), right=True, spare=True),
        Column[_OfSize]("age, M", lambda row: _of(row, "age", MIB, 0), right=True),
        Column[_OfSize]("redo, M/s", lambda row: _of(row, "redo_per_second", MIB, 1), right=True, spare=True),
        Column[_OfSize]("pages", lambda row: _of(row, "pages_per_commit", KIB, 1), right=True),
        Column[_OfSize]("device", lambda row: _of(row, "device_per_commit", KIB, 1), right=True),
        Column[_OfSize]("processors", lambda row: _of(row, "cpu_share", 0.01, 0, "%"), right=True, spare=True),
        Column[_OfSize](
            "turns", lambda row: str(len(row.cell.turns(row.size))), right=True, shared="{} turns each".format
        ),
    ]
    conditions = found[0].key.conditions
    return ReportTable.brief(
        "Both sizes by turns within one load",
        rows,
        columns,
        [
            f"Medians of turns of {format_duration(conditions.seconds)}. Throughput: NOTPM of TPC-C, else commits a second. Of the "
            "smaller: each block counts once. Pages flushed (without the doublewrite buffer) and all that the device was sent: KiB "
            "for each commit.",
        ],
        widest,
    )


def resizes_table(found: Sequence[TurnsResult], widest: int = SCREEN) -> ReportTable:
    """A row for each cell and direction."""
    rows = [
        _Direction(cell, changes) for cell in found for grows in (True, False) if (changes := cell.resizes(grows=grows))
    ]
    columns = [
        *_which(rows),
        Column[_Direction](
            "change", lambda row: f"{format_size(row.changes[0].before)} to {format_size(row.changes[0].after)}"
        ),
        Column[_Direction]("n", lambda row: str(len(row.changes)), right=True),
        Column[_Direction]("answered, s", lambda row: _between([each.answered_s for each in row.changes]), right=True),
        Column[_Direction]("in force, s", lambda row: _between([each.in_force_s for each in row.changes]), right=True),
        Column[_Direction]("meanwhile", _meanwhile, right=True),
        Column[_Direction]("slowest second", lambda row: _shares([each.slowest for each in row.changes]), right=True),
    ]
    return ReportTable.brief(
        "Changing the log's size under load",
        rows,
        columns,
        [
            "Seconds until the statement was answered, and until the log had its new size; throughput meanwhile, and its slowest second "
            "until the turn is measured, as shares of the 10 s before. Medians (least–most).",
        ],
        widest,
    )


def _which(rows: Sequence[R]) -> list[Column[R]]:
    machines = {row.cell.key.machine for row in rows}
    return [
        *([Column[R]("machine", lambda row: row.cell.key.machine)] if len(machines) > 1 else []),
        Column[R]("server", lambda row: row.cell.key.label, shared=str),
        Column[R]("storage", lambda row: row.cell.key.cell.storage, shared="on {}".format),
        Column[R]("load", lambda row: row.cell.key.cell.workload, shared=str),
        Column[R]("clients", lambda row: str(row.cell.key.cell.connections), right=True, shared="{} clients".format),
        Column[R]("tables", lambda row: format_size(row.cell.key.cell.tables), right=True, shared="tables {}".format),
        Column[R]("pool", lambda row: format_size(row.cell.key.cell.pool), right=True, shared="pool {}".format),
    ]


def _gain(row: _OfSize) -> str:
    gain = row.cell.gain
    if row.size == row.cell.key.cell.small:
        return "–"
    return with_tenths(gain.change, gain.low, gain.high)


def with_tenths(change: float, low: float, high: float) -> str:
    """As in `+0.8 % (-0.4 to +2.1)`; without an interval where there is none."""
    between = "" if math.isnan(low) else f" ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"{100 * change:+.1f} %{between}"


def _of(row: _OfSize, name: str, unit: float, places: int, suffix: str = "") -> str:
    value = row.cell.median(row.size, lambda turn: getattr(turn, name))
    return "–" if value is None else f"{value / unit:,.{places}f}{suffix}"


def _between(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.1f} ({min(values):.1f}–{max(values):.1f})"


def _shares(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.0%} ({min(values):.0%}–{max(values):.0%})"


def _meanwhile(row: _Direction) -> str:
    known = [each.meanwhile for each in row.changes if each.meanwhile is not None]
    return _shares(known) if known else "–"
