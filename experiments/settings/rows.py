"""Recoveries as rows for frames (docs/run-data.md), each with the changed setting of its load."""

from __future__ import annotations

from redolab.results.rows import load_rows
from redolab.runs.schema import Rows
from redolab.runs.store import Run

from .planned import SettingsPlan


def settings_rows(run: Run) -> Rows:
    """Return the recoveries of a run. Raises `LabError`."""
    plan: SettingsPlan = run.plan(SettingsPlan)
    rows = []
    for record, columns in load_rows(run):
        change = None if record.group is None else plan.groups[record.group]
        rows.append(
            (
                record,
                {
                    **columns,
                    "setting": None if change is None else change.setting,
                    "level": None if change is None else change.level,
                },
            )
        )
    return rows
