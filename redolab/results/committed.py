"""The runs that are committed with the project."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from redolab.runs.pages import measured_runs
from redolab.runs.store import Run

RECOVERY_PAGES = ("model", "generations", "recovery", "stuck", "anatomy", "production")
"""The pages of results whose runs are recoveries on the first machine that the project had."""
SLOWER_MACHINE = "slower-machine"
"""The folder of runs on a machine of the same class on which recoveries take twice as long: predicted, and never learned from."""
THIRD_MACHINE = "third-machine"
"""The folder of runs on one more of that class, which is as fast as the first: learned from with it, and predicted by it alone."""
INTEL_MACHINE = "intel-machine"
"""The folder of runs on a machine of another class, with another processor: predicted, and never learned from."""
FOURTH_MACHINE = "fourth-machine"
"""The folder of runs on one more of that class, on which recoveries take 1.3 to 2.6 times as long: predicted, and never learned from."""
READ_THREADS = "read-threads"
"""The folder of recoveries with several numbers of read threads, on one more machine of the first class.

How many got stuck is learned from them, their times are not: read threads are no term of the model.
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
"""Folders of the recoveries that `redolab follow` compares one with, and is judged on, each by other runs."""
NEVER_LEARNED_FROM = (SLOWER_MACHINE, "storage", FOURTH_MACHINE, INTEL_MACHINE)
FIRST_MACHINE = "the first machine"
_MACHINES = {
    **dict.fromkeys(RECOVERY_PAGES, FIRST_MACHINE),
    **dict.fromkeys((SLOWER_MACHINE, "storage"), "the slower machine"),
    THIRD_MACHINE: "the third machine",
    FOURTH_MACHINE: "the fourth machine",
    INTEL_MACHINE: "the Intel machine",
}
"""Folder → which machine its runs are of."""


def committed_recoveries() -> list[Run]:
    """The recoveries that the project learns from, whichever page they are for. Raises `LabError` if there are none."""
    return [run for folder in LEARNED_FROM for run in measured_runs(folder)]


def other_committed_recoveries() -> list[Run]:
    """Those that it only predicts, to see how far off that is. Raises `LabError` if there are none."""
    return [run for folder in NEVER_LEARNED_FROM for run in measured_runs(folder)]


def recoveries_by_read_threads() -> list[Run]:
    """Return those with several numbers of read threads. Raises `LabError` if there are none."""
    return measured_runs(READ_THREADS)


def machine_of(run: Run) -> str:
    """What the machine is called that a committed run is of."""
    return _MACHINES[run.folder.parent.name]


def by_machine(runs: Iterable[Run]) -> Mapping[str, Sequence[Run]]:
    """What each machine of the project is called → those of these committed runs that are of it."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(machine_of(run), []).append(run)
    return found
