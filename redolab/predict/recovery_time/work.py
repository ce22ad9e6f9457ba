"""Amount of work in a recovery, before any timing: bytes of redo, batches and pages."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from redolab.servers.redo_capacity import PAGE_SIZE

_FEWEST = 3
"""Fewest crashes to which a power is fitted."""
_DIFFERENT = math.log(1.5)
"""Least ln(largest / smallest redo) to which a power is fitted."""
SURE_OF_ONE_BATCH = 1.1
"""Multiple of the needed pool below which a second batch is possible, since crashes differ.

MySQL 9.7 got stuck with a pool of 3.33 times the redo, and no more with 3.6 (docs/results/stuck.md); the fitted need is
3.37.
"""
ROOMY, CROWDED = 0.85, 1.15
"""Redo and pages of a batch, as shares of the pool: none is written back up to the first, all from the second on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashSize:
    """Redo and dirty pages that a crash leaves."""

    redo: float
    """Bytes from the checkpoint to the end of the log."""
    dirty_pages: float
    """Distinct pages that the redo changed and that were not written back."""


class DirtyPages(msgspec.Struct, frozen=True, kw_only=True):
    """Distinct pages that a load's redo changes: at_most · (redo / most_redo)^power, and proportional beyond
    `most_redo`.

    Redo that keeps changing the same pages dirties few more; the extent depends on the tables. Beyond the measured
    range no such saving is assumed.
    """

    at_most: float
    """Pages for `most_redo`."""
    most_redo: float
    """Largest measured redo, in bytes."""
    power: float
    """Exponent, from 0 (always the same pages) to 1 (always new ones)."""

    def at(self, redo: float) -> float:
        """Return the dirty pages for `redo` bytes."""
        share = redo / self.most_redo
        return self.at_most * math.pow(share, 1.0 if share > 1 else self.power)


def dirty_pages_of(crashes: Sequence[CrashSize], *, of_one_load: bool = False) -> DirtyPages:
    """Return the dirty pages fitted to crashes; `of_one_load`, on tables of one size, by least squares of logarithms.

    Otherwise, or if their redo hardly differs, they are proportional to the redo. Raises `ValueError` if no crash has
    redo and dirty pages.
    """
    known = [each for each in crashes if each.redo > 0 and each.dirty_pages > 0]
    if not known:
        raise ValueError("no crash to learn from")
    most = max(each.redo for each in known)
    redo = [math.log(each.redo / most) for each in known]
    pages = [math.log(each.dirty_pages) for each in known]
    if not of_one_load or len(known) < _FEWEST or -min(redo) < _DIFFERENT:
        whole = sum(each.dirty_pages for each in known) / sum(each.redo for each in known)
        return DirtyPages(at_most=whole * most, most_redo=most, power=1.0)
    slope, _ = statistics.linear_regression(redo, pages)
    power = min(1.0, max(0.0, slope))
    at_most = math.exp(statistics.fmean(pages) - power * statistics.fmean(redo))
    return DirtyPages(at_most=at_most, most_redo=most, power=power)


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of the buffer pool that parsed redo takes, and repetition of pages in batches; fitted, all >= 0."""

    per_byte: float
    """Bytes of the pool for a byte of redo."""
    pages_per_dirty_page: float = 1.0
    """Pages recovered for each dirty page if one batch holds all redo."""
    repetition: float = 0.0
    """Power of the number of batches by which recovered pages grow: 0 if no page is in two batches, 1 if all are in
    each.
    """

    def needed(self, crash: CrashSize) -> float:
        """Return the bytes of the pool that hold all redo at once."""
        return self.per_byte * crash.redo

    def surely_enough(self, crash: CrashSize) -> float:
        """Return the bytes of the pool with which one batch is certain."""
        return SURE_OF_ONE_BATCH * self.needed(crash)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Work of a recovery with some buffer pool."""

    redo: float
    """Bytes of redo."""
    stored: float
    """Bytes that the first batch keeps in memory; the first scan only parses the rest."""
    batches: int
    pages: float
    """Pages to recover, counted in every batch that they are in."""
    dirty_pages: float
    written: float
    """Pages that must be written back to make room before the recovery ends."""


def work(crash: CrashSize, pool: float, memory: Memory) -> Work:
    """Return the work of a server with such `memory` and a buffer pool of `pool` bytes."""
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
