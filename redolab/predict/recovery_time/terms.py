"""Terms whose sum is a predicted recovery time: the amount of each kind of work, on a disk with given figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from redolab.predict.recovery_time.work import Work

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
    """Figures of a storage as fio measures them (`redolab.disks.figures`)."""

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


@dataclass(frozen=True, slots=True)
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


def _stored_doublings(work: Work, _: DiskRates) -> float:
    return work.stored / _GB * math.log2(1 + work.stored / _FREE_STORED_BYTES)


def _redo_read_s(work: Work, disk: DiskRates) -> float:
    return work.redo / (disk.sequential_mb_s * _MILLION)


_SEQUENTIAL = "s of sequential reads"
_QUEUED = "s of random reads, 32 at a time"
_SINGLE_READS, _SINGLE_WRITES = "s of random reads, one at a time", "s of random writes, one at a time"
_STORED = "store redo in memory, more for each doubling beyond 64 MB"
_LATER = "parse and store redo that the first batch had no room for"

TERMS = (
    Term("redo", Part.SCAN, "parse redo", "GB", lambda work, _: work.redo / _GB),
    Term("crowding", Part.SCAN, _STORED, "GB × doublings", _stored_doublings),
    Term("log reads", Part.SCAN, "read the redo", _SEQUENTIAL, _redo_read_s, is_disk=True),
    Term("applied redo", Part.APPLY, "apply redo", "GB", lambda work, _: work.redo / _GB),
    Term("batches", Part.APPLY, "begin and end an apply batch", "batches", lambda work, _: work.batches),
    Term("later stored redo", Part.APPLY, _LATER, "GB", lambda work, _: (work.redo - work.stored) / _GB),
    Term(
        "page reads",
        Part.APPLY,
        "read pages",
        _QUEUED,
        lambda work, disk: work.pages / disk.queued_reads_per_s,
        is_disk=True,
    ),
    Term(
        "page writes",
        Part.APPLY,
        "write pages back to make room",
        _QUEUED,
        lambda work, disk: work.written / disk.queued_reads_per_s,
        is_disk=True,
    ),
    Term(
        "write waits",
        Part.APPLY,
        "wait for single page writes",
        _SINGLE_WRITES,
        lambda work, disk: work.pages * disk.write_us / _MILLION,
        is_disk=True,
    ),
    Term(
        "later log reads",
        Part.APPLY,
        "read the redo again for each further batch",
        _SEQUENTIAL,
        lambda work, disk: (work.batches - 1) * _redo_read_s(work, disk),
        is_disk=True,
    ),
    Term("start", Part.OTHER, "start, discover the crash, open, accept", "start", lambda *_: 1.0),
    Term(
        "single reads",
        Part.OTHER,
        "read single pages at start",
        _SINGLE_READS,
        lambda _, disk: disk.read_us / _MILLION,
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
