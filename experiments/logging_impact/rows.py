"""Trials as rows, for frames (docs/run-data.md)."""

from __future__ import annotations

from collections.abc import Mapping

from redolab.runs.schema import Rows
from redolab.runs.store import Run

from .trial import LoggingTrial


def rows(run: Run) -> Rows:
    """The trials of a run: a row for each load under a log. Raises `LabError`."""
    return [(record, _row(record.trial)) for record in run.trials(LoggingTrial)]


def _row(trial: LoggingTrial) -> Mapping[str, object]:
    return {
        "server": trial.cell.server,
        "version": trial.version,
        "connections": trial.cell.connections,
        "pool_bytes": trial.cell.pool,
        "log": trial.log,
        "load_s": trial.seconds,
        "new_orders_per_minute": trial.new_orders_per_minute,
        "latency_99_ms": trial.latency_99_ms,
        "failed_per_second": trial.failed,
        "statements": trial.statements,
        "logged_bytes": trial.logged_bytes,
        "logged_lines": trial.logged_lines,
        "server_cpu_s": trial.server_seconds,
    }
