"""Terms whose sum is a predicted recovery time: the amount of each kind of work, on a disk with given figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from redolab.models.recovery_time.work import Work

_GB = 1e9
_MILLION = 1e6
_FREE_STORED_BYTES = 64e6
"""Bytes of stored redo up to which each byte costs the same; beyond it, each doubling adds as much again."""


class Part(StrEnum):
    """A part of the time to ready."""

    SCAN = "scan"
    APPLY = "apply"
    OTHER = "other"
    """Starting the process, discovering the crash, opening the recovered files, accepting connections."""


class DiskRates(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a storage as fio measures them (`redolab.storage.figures`)."""

    read_us: float
    """Latency of a random read of 16 KiB, one at a time, in microseconds."""
    write_us: float
    """Latency of a random write of 16 KiB, one at a time, in microseconds."""
    queued_reads_per_s: float
    """Random reads of 16 KiB a second, 32 at a time."""
    in_order_mb_s: float
    """Reads and writes together of 32 KiB in order with gaps, 32 at a time; in MB/s, 1 MB = 1,000,000 bytes."""
    sequential_mb_s: float
    """Sequential reads of 1 MiB, 4 at a time, in MB/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One kind of work."""

    name: str
    part: Part
    about: str
    unit: str
    """Unit of the amount; the rate is in seconds per unit."""
    amount: Callable[[Work, DiskRates], float]
    is_disk: bool = False
    """True if the amount is seconds of disk time by fio's figures; the rate is then a factor near 1."""


def _redo_gb(work: Work, _: DiskRates) -> float:
    return work.redo / _GB


def _stored_doublings(work: Work, _: DiskRates) -> float:
    return work.stored / _GB * math.log2(1 + work.stored / _FREE_STORED_BYTES)


def _later_stored_gb(work: Work, _: DiskRates) -> float:
    return (work.redo - work.stored) / _GB


def _batches(work: Work, _: DiskRates) -> float:
    return work.batches


def _once(_work: Work, _disk: DiskRates) -> float:
    return 1.0


def _redo_read_s(work: Work, disk: DiskRates) -> float:
    return work.redo / (disk.sequential_mb_s * _MILLION)


def _later_batches_read_s(work: Work, disk: DiskRates) -> float:
    return (work.batches - 1) * _redo_read_s(work, disk)


def _pages_read_s(work: Work, disk: DiskRates) -> float:
    return work.pages / disk.queued_reads_per_s


def _pages_written_s(work: Work, disk: DiskRates) -> float:
    return work.written / disk.queued_reads_per_s


def _page_write_waits_s(work: Work, disk: DiskRates) -> float:
    return work.pages * disk.write_us / _MILLION


def _read_s(_: Work, disk: DiskRates) -> float:
    return disk.read_us / _MILLION


_SEQUENTIAL = "s of sequential reads"
_QUEUED = "s of random reads, 32 at a time"

TERMS = (
    Term(name="redo", part=Part.SCAN, about="parse redo", unit="GB", amount=_redo_gb),
    Term(
        name="crowding",
        part=Part.SCAN,
        about="store redo in memory, more for each doubling beyond 64 MB",
        unit="GB × doublings",
        amount=_stored_doublings,
    ),
    Term(name="log reads", part=Part.SCAN, about="read the redo", unit=_SEQUENTIAL, amount=_redo_read_s, is_disk=True),
    Term(name="applied redo", part=Part.APPLY, about="apply redo", unit="GB", amount=_redo_gb),
    Term(name="batches", part=Part.APPLY, about="begin and end an apply batch", unit="batches", amount=_batches),
    Term(
        name="later stored redo",
        part=Part.APPLY,
        about="parse and store redo that the first batch had no room for",
        unit="GB",
        amount=_later_stored_gb,
    ),
    Term(name="page reads", part=Part.APPLY, about="read pages", unit=_QUEUED, amount=_pages_read_s, is_disk=True),
    Term(
        name="page writes",
        part=Part.APPLY,
        about="write pages back to make room",
        unit=_QUEUED,
        amount=_pages_written_s,
        is_disk=True,
    ),
    Term(
        name="write waits",
        part=Part.APPLY,
        about="wait for single page writes",
        unit="s of random writes, one at a time",
        amount=_page_write_waits_s,
        is_disk=True,
    ),
    Term(
        name="later log reads",
        part=Part.APPLY,
        about="read the redo again for each further batch",
        unit=_SEQUENTIAL,
        amount=_later_batches_read_s,
        is_disk=True,
    ),
    Term(name="start", part=Part.OTHER, about="start, discover the crash, open, accept", unit="start", amount=_once),
    Term(
        name="single reads",
        part=Part.OTHER,
        about="read single pages at start",
        unit="s of random reads, one at a time",
        amount=_read_s,
        is_disk=True,
    ),
)
"""All terms; a missing rate counts as 0."""


def seconds_by_part(rates: Mapping[str, float], work: Work, disk: DiskRates) -> dict[Part, float]:
    """Return the seconds of each part of the recovery time, at these rates (term → seconds per unit of its amount)."""
    return {
        part: sum(rates.get(term.name, 0.0) * term.amount(work, disk) for term in TERMS if term.part is part)
        for part in Part
    }
