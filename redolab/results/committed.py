"""The runs that are committed with the project."""

from __future__ import annotations

from redolab.runs.pages import measured_runs
from redolab.runs.store import Run

RECOVERY_PAGES = ("model", "generations", "recovery", "stuck", "anatomy", "production")
"""The pages of results whose runs are recoveries on the project's own machine."""
SLOWER_MACHINE = "slower-machine"
"""The folder of runs on a machine of the same class on which recoveries take twice as long: shown, and never learned from."""
THIRD_MACHINE = "third-machine"
"""The folder of runs on one more of that class, which is about as fast as the project's: never learned from either."""
OTHER_MACHINES = (SLOWER_MACHINE, THIRD_MACHINE)

ELSEWHERE = (*OTHER_MACHINES, "storage")
"""The folders of runs on these machines: predicted, to see how far off predictions are there."""


def recoveries_elsewhere() -> list[Run]:
    """The recoveries on them. Raises `LabError` if there are none."""
    return [run for folder in ELSEWHERE for run in measured_runs(folder)]


def committed_recoveries() -> list[Run]:
    """All recoveries that are committed with the project, whichever page they are for. Raises `LabError` if there are none."""
    return [run for page in RECOVERY_PAGES for run in measured_runs(page)]
