"""Marks on rows: storages that were not the disks they stand for, and what else a reader must know of a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from redolab.crashes.bench import storages_of
from redolab.crashes.images import CrashImage
from redolab.runs.machines import machine_names
from redolab.runs.store import Run
from redolab.storage.figures import OFF
from redolab.storage.table import marks
from redolab.workloads.known import workload_catalogue

from .rows import RecoveryRow, by_machine

MARK = "!"
_NOT_ALONE = 0.1
"""Of a core: what the lab may take by watching before a reader is told."""
_FEW_CORES = 2
Off: TypeAlias = Mapping[tuple[str, str], str]
"""(machine, storage) → which of its figures were not as asked there."""


def marks_of(run: Run) -> Off:
    """The storages of a run that were not as asked, on each of its machines. Raises `LabError`."""
    names = machine_names(run.record().sessions)
    return {
        (names[record.session], storage): which
        for record in storages_of(run).records
        if record.check is not None
        for storage, which in marks([record.check]).items()
    }


def storage_label(row: RecoveryRow, off: Off) -> str:
    """A row's storage, marked if it was not the disk that it stands for."""
    return row.storage + MARK * ((row.machine, row.storage) in off or is_late(row) or row.buffered)


def is_late(row: RecoveryRow) -> bool:
    """Whether the disk model answered much later than the modelled disk would have."""
    return (row.late_share or 0.0) > OFF


def _was_watched_too_closely(row: RecoveryRow) -> bool:
    """Whether it is from the time when watching took most of a core, on a machine that has few."""
    return row.lab_cpu_s is None and row.typical_ready_s is not None and (row.cores or _FEW_CORES) <= _FEW_CORES


def _lab_share(row: RecoveryRow) -> float:
    """What watching took of a core."""
    return (row.lab_cpu_s or 0.0) / row.typical_ready_s if row.typical_ready_s else 0.0


def remarks(rows: Sequence[RecoveryRow], crashes: Sequence[CrashImage], off: Off) -> list[str]:
    """What a reader must know before using the rows, a sentence each."""
    said = [f"{image.name} was killed when {image.why_killed}." for image in crashes if image.stopped_short]
    said += [caveat for name in _workloads(crashes) for caveat in workload_catalogue().get(name).caveats]
    several = len(by_machine(rows)) > 1
    said += [
        f"{storage}{MARK}{f' on {machine}' if several else ''} was not the disk that was asked for: {which} ('--all' has the figures)."
        for (machine, storage), which in off.items()
        if any((row.machine, row.storage) == (machine, storage) for row in rows)
    ]
    if any(_was_watched_too_closely(row) for row in rows):
        said.append(
            "Before the lab counted what it takes itself, watching took up to 0.8 of a core: on two cores MariaDB's recoveries were "
            "13 to 14 % longer by that (docs/recovery.md)."
        )
    if (busy := max((_lab_share(row) for row in rows), default=0.0)) > _NOT_ALONE:
        said.append(f"The lab itself took up to {busy:.2f} of a core by watching.")
    if late := _storages(row for row in rows if is_late(row)):
        said.append(
            f"{late}{MARK} answered later than the disk it stands for: this machine is slower, and such a disk recovers sooner."
        )
    if buffered := _storages(row for row in rows if row.buffered):
        said.append(
            f"{buffered}{MARK} is read through the page cache, as its file system has no direct I/O: it is faster than the disk "
            "it stands for. Put REDOLAB_LAB on ext4, XFS or btrfs."
        )
    if not all(row.page_cache_dropped for row in rows):
        said.append(
            "The page cache was not dropped before the recoveries (no root): part of the files came from memory."
        )
    return said


def _workloads(crashes: Sequence[CrashImage]) -> list[str]:
    """The workloads that filled the logs, of those that there still are."""
    known = workload_catalogue().names()
    return [name for name in dict.fromkeys(image.spec.workload for image in crashes) if name in known]


def _storages(rows: Iterable[RecoveryRow]) -> str:
    return f"{MARK}, ".join(dict.fromkeys(row.storage for row in rows))
