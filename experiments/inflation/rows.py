"""Trials as rows, for frames (docs/run-data.md)."""

from __future__ import annotations

from collections.abc import Mapping

from redolab.runs.experiment import Rows
from redolab.runs.store import Run

from .trial import InflationTrial


def rows(run: Run) -> Rows:
    """The trials of a run. Raises `LabError`."""
    return [(record, _row(record.trial)) for record in run.trials(InflationTrial)]


def _row(trial: InflationTrial) -> Mapping[str, object]:
    cell, growth = trial.cell, trial.growth
    return {
        "server": trial.server,
        "version": trial.version,
        "trx_commit": cell.trx_commit,
        "threads": cell.threads,
        "row_bytes": cell.row_bytes,
        "rows_per_transaction": cell.rows_per_transaction,
        "binary_log": cell.binary_log,
        "repeat": trial.repeat,
        "inserts_s": trial.seconds,
        "commits": trial.commits,
        "lsn_bytes": growth.lsn,
        "os_log_written_bytes": growth.os_log_written,
        "log_writes": growth.log_writes,
        "log_padded_bytes": trial.grown("log_padded"),
        "file_bytes": trial.grown("file_bytes"),
        "file_writes": trial.grown("file_writes"),
        "device_bytes": trial.grown("device_bytes"),
        "instance": trial.instance or None,
    }
