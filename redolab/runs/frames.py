"""Trials of runs as frames: one row a trial (docs/run-data.md)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import msgspec
import polars

from redolab.errors import LabError
from redolab.runs.experiment import Declaration
from redolab.runs.loading import load_experiment
from redolab.runs.schema import Session, TrialRecord
from redolab.runs.store import Run, RunStore


class _Blocks(msgspec.Struct):
    """Blocks of any experiment's plan."""

    blocks: tuple[int, ...] = ()


def load_frame(experiment: str, folder: Path | None = None) -> polars.DataFrame:
    """Return all trials of all runs of an experiment. Raises `InvalidInput` for an experiment that does not exist."""
    known = load_experiment(experiment)
    rows: list[Mapping[str, object]] = []
    readable, errors = RunStore(folder).readable()
    for run, record in readable:
        if record.experiment != experiment:
            continue
        try:
            rows += run_rows(known, run)
        except LabError as error:
            errors.append(error)
    for problem in errors:
        warnings.warn(f"left out: {problem}", stacklevel=3)
    return polars.DataFrame(rows, infer_schema_length=None)


def run_rows(experiment: type[Declaration], run: Run) -> list[Mapping[str, object]]:
    """Return a run's trials as rows. Raises `LabError`."""
    record, blocks = run.record(), run.plan(_Blocks).blocks
    return [
        {
            "run": run.name,
            "state": str(record.state),
            "session": trial.session,
            **_where(record.sessions[trial.session]),
            **_which(trial),
            "block": f"{run.name} {blocks[trial.group]}" if blocks else None,
            **measured,
        }
        for trial, measured in experiment.rows(run)
    ]


def _where(session: Session) -> dict[str, object]:
    machine = session.machine
    return {
        "session_began": session.began,
        "commit": session.commit,
        "machine": session.address,
        "identity": session.identity,
        "cpu": machine.cpu,
        "cores": machine.cores,
        "memory_bytes": machine.memory,
        "kernel": machine.kernel,
        "system": machine.system,
        "virtualisation": machine.virtualisation,
        "lab_device": machine.disk.device,
        "lab_file_system": machine.disk.file_system,
    }


def _which(trial: TrialRecord[object]) -> dict[str, object]:
    return {
        "position": trial.position,
        "group": trial.group,
        "attempt": trial.attempt,
        "took_s": trial.took,
        "findings": "; ".join(finding.what for finding in trial.findings),
    }
