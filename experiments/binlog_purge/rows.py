"""Trials as rows, for frames (docs/run-data.md)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from redolab.runs.schema import Rows
from redolab.runs.store import Run

from .trial import PurgeTrial


def rows(run: Run) -> Rows:
    """The trials of a run: a row for each removal. Raises `LabError`."""
    return [(record, row(record.trial)) for record in run.trials(PurgeTrial)]


def row(trial: PurgeTrial) -> Mapping[str, object]:
    """A removal with all its figures."""
    cell, files = trial.cell, trial.files
    return {
        "server": cell.server,
        "version": trial.version,
        "storage": cell.storage,
        "file_system": cell.file_system,
        "removal": str(cell.removal),
        "file_size_bytes": cell.file_size,
        "repeat": trial.repeat,
        "files": len(files.bytes),
        "purged_bytes": sum(files.bytes),
        "extents_of_a_file": None if not files.extents else statistics.median(files.extents),
        "cached_bytes": files.cached_bytes,
        "written_s": files.seconds,
        "asked_per_second": trial.rate,
        "clients": trial.clients,
        "kept_up": trial.kept_up,
        "removal_s": trial.removal.seconds,
        "commits_during_removal": trial.removal.commits,
        "usual_commits": trial.usual_commits,
        "longest_without_commit_at_removal_s": trial.removal.longest_without_commit_s,
        "long_enough": trial.is_long_enough,
        "stood_still": trial.stood_still,
        "longest_wait_without_s": trial.quiet.longest_wait_s,
        "longest_wait_with_s": trial.removing.longest_wait_s,
        "waits_over_100ms_without": trial.quiet.waits_over_100ms,
        "waits_over_100ms_with": trial.removing.waits_over_100ms,
        "longest_without_commit_before_s": trial.quiet.longest_without_commit_s,
        "statements_without": trial.quiet.statements,
        "statements_with": trial.removing.statements,
        "seconds_without": trial.quiet.seconds,
        "seconds_with": trial.removing.seconds,
        "slow_seconds": trial.slow_seconds,
    }
