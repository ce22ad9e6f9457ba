"""Trials as rows, for frames (docs/run-data.md)."""

from __future__ import annotations

from collections.abc import Mapping

from redolab.runs.schema import Rows
from redolab.runs.store import Run

from .trial import PluginTrial


def rows(run: Run) -> Rows:
    """The trials of a run. Raises `LabError`."""
    return [(record, _row(record.trial)) for record in run.trials(PluginTrial)]


def _row(trial: PluginTrial) -> Mapping[str, object]:
    return {
        "server": trial.server,
        "version": trial.version,
        "arm": trial.arm.value,
        "log_on": trial.place.value or None,
        "connections": trial.connections,
        "block": trial.block,
        "statements_s": trial.seconds,
        "statements": trial.statements,
        "executed": trial.executed,
        "p95_ms": trial.p95_ms,
        "p99_ms": trial.p99_ms,
        "server_cpu_s": trial.server_cpu,
        "lines": trial.lines,
        "cut_off": trial.cut_off,
        "log_bytes": trial.log_bytes,
        "dropped": trial.dropped,
        "buffer_bytes": trial.buffer,
        "killed": trial.killed,
        "instance": trial.instance or None,
    }
