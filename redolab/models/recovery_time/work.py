"""What there is to do in a recovery: bytes of redo, batches, and pages; before any of it is timed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from redolab.models.capacity import PAGE_SIZE

_FEWEST = 3
"""Crashes from which a power can be told."""
_DIFFERENT = math.log(1.5)
"""Of redo, the most by the least: less tells no power."""
SURE_OF_ONE_BATCH = 1.1
"""Times the pool that redo needs: with less a second batch is possible, as crashes differ. MySQL 9.7 got stuck with a pool of 3.33
times the redo, and no more with 3.6 (docs/results/stuck.md); the fitted need is 3.37."""
ROOMY, CROWDED = 0.85, 1.15
"""Redo and pages in a batch, as a share of the pool: up to the first no page is written back, from the second on all are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """What a crash leaves to recover."""

    redo: float
    """Bytes from the checkpoint to the end of the log."""
    dirty_pages: float
    """Distinct pages that it changed and that were not written back."""


class DirtyPages(msgspec.Struct, frozen=True, kw_only=True):
    """How many distinct pages the redo of a load changes: at_most · (redo / most_redo)^power, beyond `most_redo` in proportion to it.

    Redo that goes on changing the same pages dirties few more. How far that goes depends on the tables: beyond what was measured
    nothing is taken to be spared.
    """

    at_most: float
    """Pages for `most_redo`."""
    most_redo: float
    """Bytes: the most that was measured."""
    power: float
    """From 0, always the same pages, to 1, ever others."""

    def at(self, redo: float) -> float:
        """For so many bytes of redo."""
        share = redo / self.most_redo
        return self.at_most * math.pow(share, 1.0 if share > 1 else self.power)


def dirty_pages_of(crashes: Sequence[Crash], *, of_one_load: bool = False) -> DirtyPages:
    """What crashes tell of it; where they are `of_one_load`, on tables of one size, by least squares of logarithms.

    Else, or where their redo hardly differs, in proportion to the redo. Raises `ValueError` if there are none.
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

    def surely_enough(self, crash: Crash) -> float:
        """Bytes of the pool with which one batch is certain."""
        return SURE_OF_ONE_BATCH * self.needed(crash)


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
