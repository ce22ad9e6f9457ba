"""Trials as rows, for frames (docs/run-data.md)."""

from __future__ import annotations

from redolab.runs.experiment import Rows
from redolab.runs.store import Run

from .trial import DurabilityTrial


def rows(run: Run) -> Rows:
    """The trials of a run: a row for each batch of states. Raises `LabError`."""
    return [
        (
            record,
            {
                "server": record.trial.cell.server,
                "version": record.trial.version,
                "trx_commit": record.trial.cell.trx_commit,
                "sync_binlog": record.trial.cell.sync_binlog,
                "variation": record.trial.cell.variation,
                "recording": record.trial.recording,
                "cuts": str(record.trial.cuts),
                "states": len(record.trial.verdicts),
                "states_that_lost": sum(each.is_lost for each in record.trial.verdicts),
                "broken": sum(each.is_broken for each in record.trial.verdicts),
            },
        )
        for record in run.trials(DurabilityTrial)
    ]
