"""Marks on rows: storages that were not the disks they stand for, and what else a reader must know of a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from redolab.crashes.images import CrashImage
from redolab.storage.figures import OFF

from .rows import RecoveryRow

MARK = "!"


def storage_label(row: RecoveryRow, off: Mapping[str, str]) -> str:
    """A row's storage, marked if it was not the disk that it stands for; `off`: storage → which figures were not as asked."""
    return row.storage + MARK * (row.storage in off or is_late(row) or row.buffered)


def is_late(row: RecoveryRow) -> bool:
    """Whether the disk model answered much later than the modelled disk would have."""
    return (row.late_share or 0.0) > OFF


def remarks(rows: Sequence[RecoveryRow], crashes: Sequence[CrashImage], off: Mapping[str, str]) -> list[str]:
    """What a reader must know before using the rows, a sentence each."""
    said = [
        f"{image.name} was killed when {image.why_killed}."
        for image in crashes
        if "stopped growing" in image.why_killed
    ]
    said += [
        f"{storage}{MARK} was not the disk that was asked for: {which} ('--all' has the figures)."
        for storage, which in off.items()
        if any(row.storage == storage for row in rows)
    ]
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


def _storages(rows: Iterable[RecoveryRow]) -> str:
    return f"{MARK}, ".join(dict.fromkeys(row.storage for row in rows))
