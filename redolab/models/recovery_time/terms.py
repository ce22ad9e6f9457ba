"""What each kind of work takes: the terms of which a predicted recovery is the sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from redolab.models.capacity import PAGE_SIZE
from redolab.models.recovery_time.work import Work

_GB = 1e9
_MILLION = 1e6
_THOUSAND = 1e3
_NEAR = 64e6
"""Bytes of stored redo up to which storing more costs no more for each byte; beyond it, each doubling adds the same."""

_FEW = 16e3
"""Pages in a batch up to which a page costs no more for others in its batch; beyond it, each doubling adds the same."""


class Part(StrEnum):
    """A part of the time to ready."""

    SCAN = "scan"
    APPLY = "apply"
    OPEN = "open"
    OTHER = "other"
    """Starting the process, discovering the crash, accepting connections."""


class DiskRates(msgspec.Struct, frozen=True, kw_only=True):
    """What fio finds of a storage (`redolab.storage.figures`)."""

    read_us: float
    """Latency of a random read of 16 KiB, one at a time, in microseconds."""
    write_us: float
    """Latency of a random write of 16 KiB, one at a time, in microseconds."""
    queued_reads_per_s: float
    """Random reads of 16 KiB a second, 32 at a time."""
    in_order_mb_s: float
    """Reads and writes of 32 KiB in order with gaps, 32 at a time, together; 1 MB = 1,000,000 bytes."""
    sequential_mb_s: float
    """Reads of 1 MiB in a row, 4 at a time."""


class Separable(StrEnum):
    """What has to differ between recoveries for a rate to be told from the others."""

    ALWAYS = "always"
    DISKS = "disks"
    BATCHES = "one batch and more"


@dataclass(frozen=True, slots=True)
class Term:
    """One kind of work: what it is called, of which part, the unit of its rate, and how much of it there is."""

    name: str
    part: Part
    unit: str
    about: str
    amount: Callable[[Work, DiskRates], float]
    told_by: Separable = Separable.ALWAYS


def _redo_gb(work: Work, _: DiskRates) -> float:
    return work.redo / _GB


def _stored_gb(work: Work, _: DiskRates) -> float:
    return work.stored / _GB


def _stored_doublings(work: Work, _: DiskRates) -> float:
    return work.stored / _GB * math.log2(1 + work.stored / _NEAR)


def _later_stored_gb(work: Work, _: DiskRates) -> float:
    return (work.redo - work.stored) / _GB


def _redo_scanned_again(work: Work, _: DiskRates) -> float:
    return work.redo / _GB if work.batches > 1 else 0.0


def _redo_read_s(work: Work, disk: DiskRates) -> float:
    return work.redo / (disk.sequential_mb_s * _MILLION)


def _thousand_pages(work: Work, _: DiskRates) -> float:
    return work.pages / _THOUSAND


def _crowded_thousand_pages(work: Work, _: DiskRates) -> float:
    return work.pages / _THOUSAND * math.log2(1 + work.pages / work.batches / _FEW)


def _batches(work: Work, _: DiskRates) -> float:
    return work.batches


def _redo_of_later_batches(work: Work, _: DiskRates) -> float:
    return (work.batches - 1) * work.redo / _GB


def _later_batches_read_s(work: Work, disk: DiskRates) -> float:
    return (work.batches - 1) * _redo_read_s(work, disk)


def _seeks_s(work: Work, disk: DiskRates) -> float:
    return work.pages / disk.queued_reads_per_s


def _write_waits_s(work: Work, disk: DiskRates) -> float:
    return work.pages * disk.write_us / _MILLION


def _in_order_s(pages: float, disk: DiskRates) -> float:
    return pages * PAGE_SIZE / (disk.in_order_mb_s * _MILLION)


def _pages_read_s(work: Work, disk: DiskRates) -> float:
    return _in_order_s(work.pages, disk)


def _pages_written_s(work: Work, disk: DiskRates) -> float:
    return _in_order_s(work.written, disk)


def _write_operations_s(work: Work, disk: DiskRates) -> float:
    return work.written / disk.queued_reads_per_s


def _thousand_last_pages(work: Work, _: DiskRates) -> float:
    return work.pages / work.batches / _THOUSAND


def _last_pages_s(work: Work, disk: DiskRates) -> float:
    return _in_order_s(work.pages / work.batches, disk)


def _once(_work: Work, _disk: DiskRates) -> float:
    return 1.0


def _read_s(_: Work, disk: DiskRates) -> float:
    return disk.read_us / _MILLION


_BY_PAGES = "s for each s by fio's reads and writes in order"
_BY_SEQUENTIAL = "s for each s by fio's sequential reads"

TERMS = (
    Term("redo", Part.SCAN, "s/GB", "parsing redo", _redo_gb),
    Term("stored redo", Part.SCAN, "s/GB", "storing the redo of the first batch", _stored_gb),
    Term(
        "crowding", Part.SCAN, "s/GB", "storing it, for each doubling of what is stored beyond 64 MB", _stored_doublings
    ),
    Term(
        "scan again",
        Part.SCAN,
        "s/GB",
        "redo read twice, as it does not fit at once",
        _redo_scanned_again,
        Separable.BATCHES,
    ),
    Term("log reads", Part.SCAN, _BY_SEQUENTIAL, "reading the redo", _redo_read_s, Separable.DISKS),
    Term("pages", Part.APPLY, "ms", "bringing a page up to date", _thousand_pages),
    Term(
        "crowded pages",
        Part.APPLY,
        "ms",
        "a page, for each doubling of the pages in its batch beyond 16,000",
        _crowded_thousand_pages,
    ),
    Term("applied redo", Part.APPLY, "s/GB", "applying redo", _redo_gb),
    Term("turns", Part.APPLY, "s", "each batch, however small", _batches),
    Term(
        "later stored redo",
        Part.APPLY,
        "s/GB",
        "parsing and storing what the first batch had no room for",
        _later_stored_gb,
    ),
    Term("batches", Part.APPLY, "s/GB", "redo, for each batch after the first", _redo_of_later_batches),
    Term("page reads", Part.APPLY, _BY_PAGES, "reading pages", _pages_read_s, Separable.DISKS),
    Term("page writes", Part.APPLY, _BY_PAGES, "writing pages back between batches", _pages_written_s, Separable.DISKS),
    Term(
        "seeks",
        Part.APPLY,
        "s for each s by fio's random reads, 32 at a time",
        "finding pages",
        _seeks_s,
        Separable.DISKS,
    ),
    Term(
        "write operations",
        Part.APPLY,
        "s for each s by fio's random reads, 32 at a time",
        "writing pages back to make room",
        _write_operations_s,
        Separable.DISKS,
    ),
    Term(
        "write waits",
        Part.APPLY,
        "s for each s by fio's writes, one at a time",
        "waiting for pages to be written",
        _write_waits_s,
        Separable.DISKS,
    ),
    Term(
        "later log reads",
        Part.APPLY,
        _BY_SEQUENTIAL,
        "reading redo again between batches",
        _later_batches_read_s,
        Separable.DISKS,
    ),
    Term("opening", Part.OPEN, "s", "opening what was recovered", _once),
    Term("flushed pages", Part.OPEN, "ms", "a page of the last batch", _thousand_last_pages),
    Term("page flushes", Part.OPEN, _BY_PAGES, "writing back pages of the last batch", _last_pages_s, Separable.DISKS),
    Term("starting", Part.OTHER, "s", "process, discovery, accepting connections", _once),
    Term("single reads", Part.OTHER, "reads", "reads one at a time, of fio's latency", _read_s, Separable.DISKS),
)
"""All terms; a rate that is not given counts as 0."""


def seconds_by_part(rates: Mapping[str, float], work: Work, disk: DiskRates) -> dict[Part, float]:
    """Seconds of each part of the time to ready, at these rates (term → seconds for each unit of its amount)."""
    return {
        part: sum(rates.get(term.name, 0.0) * term.amount(work, disk) for term in TERMS if term.part is part)
        for part in Part
    }
