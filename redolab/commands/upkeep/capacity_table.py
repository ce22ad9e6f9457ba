"""Limits of redo logs of one size on different servers, as a table, and the option file lines for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redolab.report.table import Column, ReportTable
from redolab.servers.dialects import Dialect
from redolab.servers.redo_capacity import RedoCapacity
from redolab.units import format_size


@dataclass(frozen=True, slots=True)
class ServerCapacity:
    """A redo log of the requested size on one server."""

    server: str
    dialect: Dialect
    log_size: int
    """Bytes, within the range of the server."""
    asked: int
    capacity: RedoCapacity


def server_capacity(server: str, dialect: Dialect, log_size: int) -> ServerCapacity:
    """Return the limits of a redo log of `log_size` bytes, or of the nearest size that the server can have."""
    possible = min(max(log_size, dialect.smallest_log), dialect.largest_log)
    return ServerCapacity(server, dialect, possible, log_size, dialect.capacity(dialect.layout(possible)))


def _files(row: ServerCapacity) -> str:
    layout = row.capacity.layout
    return f"{layout.files} × {format_size(layout.file_size)}"


_COLUMNS = [
    Column[ServerCapacity]("server", lambda row: row.server),
    Column[ServerCapacity]("files", _files, right=True),
    Column[ServerCapacity]("usable, bytes", lambda row: f"{row.capacity.usable:,}", right=True),
    Column[ServerCapacity]("async flush point", lambda row: f"{row.capacity.async_flush_point:,}", right=True),
    Column[ServerCapacity]("sync flush point", lambda row: f"{row.capacity.sync_flush_point:,}", right=True),
    Column[ServerCapacity]("hard limit", lambda row: f"{row.capacity.hard_limit:,}", right=True),
    Column[ServerCapacity](
        "of the files", lambda row: f"{row.capacity.hard_limit / row.capacity.layout.size:.1%}", right=True
    ),
]


def capacity_table(rows: Sequence[ServerCapacity]) -> ReportTable:
    """Return a row for each server, with notes on some."""
    limited = [
        f"{row.server} can have {format_size(row.log_size)} ({row.log_size:,} bytes) at most."
        if row.asked > row.log_size
        else f"{row.server} takes {format_size(row.log_size)} at least."
        for row in rows
        if row.asked != row.log_size
    ]
    notes = [
        "Checkpoint ages in bytes, for 16 KiB pages: flushing becomes eager at the async flush point, is forced from the sync flush "
        "point, and statements wait at the hard limit, the most redo that a crash can leave. docs/capacity.md has the formulas."
    ]
    return ReportTable.of("Redo log capacity", rows, _COLUMNS, notes + limited)


def option_lines(row: ServerCapacity) -> list[str]:
    """Return the lines of an option file that give this redo log."""
    return ["[mysqld]", *(f"{setting.name} = {setting.value}" for setting in row.dialect.log_settings(row.log_size))]
