"""What there is to do in a recovery: bytes of redo, batches, and pages; before any of it is timed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from redolab.models.capacity import PAGE_SIZE

ROOMY, CROWDED = 0.85, 1.15
"""Redo and pages in a batch, as a share of the pool: up to the first no page is written back, from the second on all are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """What a crash leaves to recover."""

    redo: float
    """Bytes from the checkpoint to the end of the log."""
    dirty_pages: float
    """Distinct pages that it changed and that were not written back."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What a server's parsed redo takes of the buffer pool, and how pages repeat in batches; fitted, all >= 0."""

    per_byte: float
    """Bytes of the pool for a byte of redo."""
    pages_per_dirty_page: float = 1.0
    """Pages recovered for each dirty page where one batch holds all redo."""
    repetition: float = 0.0
    """Pages recovered grow as batches to this power: 0 if no page is in two batches, 1 if every page is in every batch."""

    def needed(self, crash: Crash) -> float:
        """Bytes of the pool in which all redo fits at once."""
        return self.per_byte * crash.redo


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a recovery with some buffer pool has to do."""

    redo: float
    """Bytes."""
    stored: float
    """Bytes that the first batch keeps in memory; the rest is only parsed in the first scan."""
    batches: int
    pages: float
    """To bring up to date, counted in every batch that they are in."""
    dirty_pages: float
    written: float
    """Of the pages, those that have to make room for others before the recovery is over."""


def work(crash: Crash, pool: float, memory: Memory) -> Work:
    """What a server with such `memory` has to do with a buffer pool of so many bytes."""
    batches = max(1, math.ceil(memory.needed(crash) / pool))
    pages = crash.dirty_pages * memory.pages_per_dirty_page * batches**memory.repetition
    filled = (memory.needed(crash) + pages * PAGE_SIZE) / pool
    return Work(
        redo=crash.redo,
        stored=min(crash.redo, pool / memory.per_byte),
        batches=batches,
        pages=pages,
        dirty_pages=crash.dirty_pages,
        written=pages * (1.0 if batches > 1 else min(1.0, max(0.0, (filled - ROOMY) / (CROWDED - ROOMY)))),
    )
