"""Trials as rows, for frames (docs/run-data.md)."""

from __future__ import annotations

from collections.abc import Mapping

from redolab.runs.schema import Rows
from redolab.runs.store import Run

from .trial import RotationTrial


def rows(run: Run) -> Rows:
    """The trials of a run. Raises `LabError`."""
    return [(record, row_of(record.trial)) for record in run.trials(RotationTrial)]


def row_of(trial: RotationTrial) -> Mapping[str, object]:
    """A row for programs."""
    cell, check = trial.cell, trial.check
    return {
        "server": cell.server,
        "version": trial.version,
        "storage": cell.storage,
        "file_system": cell.file_system,
        "method": str(cell.method),
        "held": cell.held,
        "log_file": cell.log_file,
        "repeat": trial.repeat,
        "log_bytes": trial.log_bytes,
        "rotation_s": trial.rotation_s,
        "longest_ms": trial.during.longest_ms,
        "longest_without_ms": trial.without.longest_ms,
        "more_ms": trial.more_ms,
        "per_second": trial.during.per_second,
        "per_second_without": trial.without.per_second,
        "slow_seconds": trial.during.slow_seconds,
        "slow_seconds_without": trial.without.slow_seconds,
        "sent": check.sent,
        "logged": check.logged,
        "lost": check.lost,
        "lost_s": check.lost_s,
        "unlogged": check.unlogged,
        "removed": check.removed,
        "twice": check.twice,
        "torn": check.torn,
        "flushed_tables": trial.flushed_tables,
        "flush_commands": _grown(trial, "flush_commands"),
        "com_flush": _grown(trial, "com_flush"),
        "opened_tables": _grown(trial, "opened_tables"),
        "open_tables_before": trial.before.open_tables,
        "open_tables_after": trial.after.open_tables,
        "phases": "; ".join(f"{each.name} {each.seconds:.4f} s" for each in trial.phases),
        "slowest_phase": max(trial.phases, key=lambda each: each.longest_ms).name if trial.phases else None,
        "late_share": trial.late_share,
        "buffered": trial.buffered,
        "instance": trial.instance or None,
    }


def _grown(trial: RotationTrial, name: str) -> int | None:
    before, after = getattr(trial.before, name), getattr(trial.after, name)
    return None if before is None or after is None else after - before
