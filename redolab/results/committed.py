"""The runs that are committed with the project."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from redolab.runs.pages import measured_runs
from redolab.runs.store import Run

RECOVERY_PAGES = ("model", "generations", "recovery", "stuck", "anatomy", "production")
"""Pages of results whose runs are recoveries on host A."""
SLOWER_MACHINE = "slower-machine"
"""Folder of runs on host B, of the same class, where recoveries take twice as long: predicted, never trained on."""
THIRD_MACHINE = "third-machine"
"""Folder of runs on host C, of the same class and as fast as A: trained on with A, and predicted by A alone."""
INTEL_MACHINE = "intel-machine"
"""Folder of runs on host D, of another class with another CPU: predicted, never trained on."""
FOURTH_MACHINE = "fourth-machine"
"""Folder of runs on host F, of the same class, where recoveries take 1.3 to 2.6 times as long: never trained on."""
READ_THREADS = "read-threads"
"""Folder of recoveries with several numbers of read threads, on host F.

Their stuck recoveries are counted, but their times are not trained on: read threads are no term of the model.
"""
OTHER_MACHINES = (SLOWER_MACHINE, THIRD_MACHINE, FOURTH_MACHINE, INTEL_MACHINE)

LEARNED_FROM = (*RECOVERY_PAGES, THIRD_MACHINE)
FOLLOWED = (
    "following",
    *LEARNED_FROM,
    "throughput",
    "settings",
    SLOWER_MACHINE,
    INTEL_MACHINE,
    "storage",
    "source",
)
"""Folders of the recoveries that `redolab follow` compares with, and is judged on, each by other runs."""
NEVER_LEARNED_FROM = (SLOWER_MACHINE, "storage", FOURTH_MACHINE, INTEL_MACHINE)
FIRST_MACHINE = "the first machine"
_MACHINES = {
    **dict.fromkeys(RECOVERY_PAGES, FIRST_MACHINE),
    **dict.fromkeys((SLOWER_MACHINE, "storage"), "the slower machine"),
    THIRD_MACHINE: "the third machine",
    FOURTH_MACHINE: "the fourth machine",
    INTEL_MACHINE: "the Intel machine",
}
"""Folder → machine of its runs."""


def committed_recoveries() -> list[Run]:
    """Return the recoveries that the project trains on, for any page. Raises `LabError` if there are none."""
    return [run for folder in LEARNED_FROM for run in measured_runs(folder)]


def other_committed_recoveries() -> list[Run]:
    """Return the recoveries that the project only predicts, to measure errors. Raises `LabError` if there are none."""
    return [run for folder in NEVER_LEARNED_FROM for run in measured_runs(folder)]


def recoveries_by_read_threads() -> list[Run]:
    """Return the recoveries with several numbers of read threads. Raises `LabError` if there are none."""
    return measured_runs(READ_THREADS)


def machine_of(run: Run) -> str:
    """Return the name of the machine of a committed run."""
    return _MACHINES[run.folder.parent.name]


def by_machine(runs: Iterable[Run]) -> Mapping[str, Sequence[Run]]:
    """Return name of machine → its runs among these committed runs."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(machine_of(run), []).append(run)
    return found
