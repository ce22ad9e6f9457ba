"""The runs that are committed with the project."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from redolab.grouping import by_key
from redolab.runs.pages import measured_runs
from redolab.runs.store import Run

RECOVERY_PAGES = ("model", "generations", "recovery", "stuck", "anatomy", "production")
"""Pages of results whose runs are recoveries on host A."""
HOST_B, HOST_C, HOST_D, HOST_F, HOST_G, HOST_I = "host-b", "host-c", "host-d", "host-f", "host-g", "host-i"
"""Folders of runs on one host each.

Host B, of the same description as A, takes twice as long, host F 1.2 to 2.5 times as long as C; host D has another
processor. They are predicted, and never learned from. Host C is as fast as A, and is learned from. The crashes of host G,
on disks and under a load that no other run has, are predicted as well, and lists of terms are compared on them
(benchmarks/terms.py). Those of host I, under the settings that vendors ship, are predicted for their page alone.
"""
READ_THREADS = "read-threads"
"""Folder of recoveries with several numbers of read threads, on host F.

How many got stuck is learned from them, their times are not: read threads are no term of the model.
"""
MEMORY = "memory"
"""Folder of recoveries beside other programs, on host H: their memory counts, their times do not."""
BINARY_LOG = "binary-log"
"""Folder of recoveries with large and with cut transactions in the binary log, on host I.

How fast it is read is learned from them; the rest of their times is not.
"""
PREPARE = "prepare"
"""Folder of prepared backups beside recoveries, on host I."""
FULL_16G = "full-16g"
"""Folder of recoveries with a full log of 16G, on host I; the model never learns from them."""
HOSTS = {
    **dict.fromkeys((*RECOVERY_PAGES, "inflation", "following"), "A"),
    **dict.fromkeys((HOST_B, "storage"), "B"),
    HOST_C: "C",
    HOST_D: "D",
    **dict.fromkeys((HOST_F, READ_THREADS), "F"),
    HOST_G: "G",
    HOST_I: "I",
    MEMORY: "H",
    BINARY_LOG: "I",
    PREPARE: "I",
    FULL_16G: "I",
}
"""Folder of data/measured → its host, for folders of one host (data/measured/README.md)."""
OTHER_MACHINES = (HOST_B, HOST_C, HOST_F, HOST_D, HOST_G, HOST_I)
LEARNED_FROM = (*RECOVERY_PAGES, HOST_C)
FOLLOWED = ("following", *LEARNED_FROM, "throughput", "settings", HOST_B, HOST_D, "storage", "source")
"""Folders of recoveries that `redolab follow` compares a recovery with, and that measure its errors, run by run."""
NEVER_LEARNED_FROM = (HOST_B, "storage", HOST_F, HOST_D, HOST_G)
FIRST_MACHINE = "host A"


def committed_recoveries() -> list[Run]:
    """Return the recoveries that the project trains on, for any page. Raises `LabError` if there are none."""
    return [run for folder in LEARNED_FROM for run in measured_runs(folder)]


def other_committed_recoveries() -> list[Run]:
    """Return the recoveries that the project only predicts, to measure errors. Raises `LabError` if there are none."""
    return [run for folder in NEVER_LEARNED_FROM for run in measured_runs(folder)]


def recoveries_by_read_threads() -> list[Run]:
    """Return the recoveries with several numbers of read threads. Raises `LabError` if there are none."""
    return measured_runs(READ_THREADS)


def recoveries_with_binary_logs() -> list[Run]:
    """Return the recoveries whose binary log ends with much, or in a transaction. Raises `LabError` if there are none."""
    return measured_runs(BINARY_LOG)


def machine_of(run: Run) -> str:
    """Return the host of a committed run, as in `host A`."""
    return f"host {HOSTS[run.folder.parent.name]}"


def by_machine(runs: Iterable[Run]) -> Mapping[str, Sequence[Run]]:
    """Return the committed runs of each host, by its name."""
    return by_key(runs, machine_of)
