"""A lab that crashes real MySQL-family servers on purpose, times their recovery, and sizes their redo logs.

`load_runs` is for notebooks: the trials of runs, as a frame.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

__all__ = ["__version__", "load_runs"]

__version__ = "1.0.0"
"""Version of the package; `pyproject.toml` reads it from here. An editable install can report an earlier one."""


def load_runs(experiment: str = "recovery", folder: str | Path | None = None) -> polars.DataFrame:
    """Return the trials of an experiment's runs: one row a trial, with its configuration, machine and storage.

    `folder` is the folder of runs, by default that of this clone (`data/runs`) or `./redolab-runs`. Columns and units
    are in docs/run-data.md. Trials that no longer count, because the crash image they recovered is gone, are left out.
    A run that cannot be read is left out, and a warning names it. Raises `InvalidInput` for an experiment that does not
    exist.
    """
    # Imported now: polars takes longer to load than most commands to run.
    from redolab.runs.frames import load_frame

    return load_frame(experiment, None if folder is None else Path(folder))
