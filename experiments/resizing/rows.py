"""Trials as rows, for frames (docs/run-data.md)."""

from __future__ import annotations

from collections.abc import Mapping

from redolab.records.turns import ResizingTrial, Turn
from redolab.runs.schema import Rows
from redolab.runs.store import Run


def rows(run: Run) -> Rows:
    """The turns of a run: a row for each. Raises `LabError`."""
    return [(record, row(record.trial, turn)) for record in run.trials(ResizingTrial) for turn in record.trial.turns]


def row(trial: ResizingTrial, turn: Turn) -> Mapping[str, object]:
    """A turn with all its figures."""
    cell = trial.cell
    return {
        "server": cell.server,
        "version": trial.version,
        "storage": cell.storage,
        "workload": cell.workload,
        "connections": cell.connections,
        "tables_bytes": cell.tables,
        "pool_bytes": cell.pool,
        "trx_commit": cell.trx_commit,
        "log_size_bytes": turn.log_size,
        "turn_s": turn.seconds,
        "notpm" if trial.counts_new_orders else "commits_per_second": turn.rate,
        "latency_95_ms": turn.latency_95_ms,
        "worst_second": turn.worst_second,
        "checkpoint_age_bytes": turn.age,
        "redo_bytes_per_second": turn.redo_per_second,
        "pages_bytes_per_commit": turn.pages_per_commit,
        "device_bytes_per_commit": turn.device_per_commit,
        "cpu_share": turn.cpu_share,
    }
