"""Remarks that a reader needs before using the figures of recoveries."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.records.crash import CrashImage
from redolab.results.marks import Off, storage_remarks
from redolab.servers.dialects import family_of
from redolab.workloads.catalogue import workload_catalogue

from .rows import RecoveryRow

_NOT_ALONE = 0.1
"""Share of a core that the lab's watching may take without a remark."""
_FEW_CORES = 2


def was_watched_too_closely(row: RecoveryRow) -> bool:
    """Return True for recoveries of MariaDB from the time when watching took most of a core, on a machine with few."""
    if family_of(row.version) != "mariadb":
        return False
    return row.lab_cpu_s is None and row.typical_ready_s is not None and (row.cores or _FEW_CORES) <= _FEW_CORES


def _lab_share(row: RecoveryRow) -> float:
    """Return the share of a core that watching took."""
    return (row.lab_cpu_s or 0.0) / row.typical_ready_s if row.typical_ready_s else 0.0


def remarks(rows: Sequence[RecoveryRow], crashes: Sequence[CrashImage], off: Off) -> list[str]:
    """Return sentences that a reader needs before using the rows."""
    said = [f"{image.name} was killed when {image.why_killed}." for image in crashes if image.stopped_short]
    said += [caveat for name in _workloads(crashes) for caveat in workload_catalogue().get(name).caveats]
    said += storage_remarks(rows, off)
    if any(was_watched_too_closely(row) for row in rows):
        said.append("The lab's own watching then made MariaDB's recoveries on two cores 13 to 14 % longer.")
    if (busy := max((_lab_share(row) for row in rows), default=0.0)) > _NOT_ALONE:
        said.append(f"Watching took the lab up to {busy:.2f} of a core.")
    if not all(row.page_cache_dropped for row in rows):
        said.append(
            "The page cache was not dropped before the recoveries (no root): part of the files came from memory."
        )
    return said


def _workloads(crashes: Sequence[CrashImage]) -> list[str]:
    """Return the workloads that filled the logs, without those that no longer exist."""
    known = workload_catalogue().names()
    return [name for name in dict.fromkeys(image.spec.workload for image in crashes) if name in known]
