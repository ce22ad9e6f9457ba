"""A lab that crashes real MySQL-family servers on purpose, times their recovery, and sizes their redo logs.

`load_runs` is for notebooks: what runs measured, as a frame.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

__all__ = ["__version__", "load_runs"]

__version__ = "1.0.0"
"""Said here alone; what is installed of a clone may have been set up at an earlier one."""


def load_runs(experiment: str = "recovery", folder: str | Path | None = None) -> polars.DataFrame:
    """All that the runs of an experiment have measured: one row a trial, with what it was measured on and where.

    `folder` is the folder of runs, by default that of this clone (`data/runs`) or `./redolab-runs`. Columns and units are in
    docs/run-data.md. Trials that no longer count, as what they were measured on is gone, are left out. A run that cannot be
    read is named in a warning and left out. Raises `InvalidInput` for an experiment that does not exist.
    """
    # Imported now: polars takes longer to load than most commands to run.
    from redolab.runs.frames import load_frame

    return load_frame(experiment, None if folder is None else Path(folder))
