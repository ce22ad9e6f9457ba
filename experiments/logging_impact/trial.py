"""What one load came to under one way of logging."""

from __future__ import annotations

import msgspec

from redolab.machine.facts import Disturbance


class LoggingCell(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same of all logs that are compared; the pool in bytes."""

    server: str
    connections: int
    pool: int


class LoggingTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One load under one query log; rates are of the measured stretch."""

    cell: LoggingCell
    version: str
    log: str
    """Its name in `logs.LOGS`."""
    seconds: float
    """Of the stretch."""
    new_orders_per_minute: float
    """NOTPM: New-Order transactions that ended, a minute."""
    latency_99_ms: float | None
    """Milliseconds: the median over the seconds of the 99th percentile of a New-Order; one significant digit (go-tpc)."""
    failed: float
    """Transactions that ended in an error, a second."""
    statements: int
    """That the server says its clients sent (`Questions`)."""
    logged_bytes: int | None
    """By which the log grew; None where it writes no file."""
    logged_lines: int | None
    """Lines of a file, rows of a table, statements in digests; None where nothing can be counted."""
    server_seconds: float | None
    """Processor time of the server."""
    instance: str
    """The hash under which the run keeps the server's settings and variables."""
    disturbance: Disturbance | None = None
    """What others took of the processors meanwhile."""
