"""State of a running server: how full its redo log is, why it flushes, and when statements will wait."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from redolab.servers.redo_counters import Sample

_PERCENT = 100.0
_ON = ("on", "1")


class Driver(StrEnum):
    """Reason why the server writes pages at the moment, the most pressing first."""

    WAITING = "waiting"
    """The log is full: statements wait for pages to be written."""
    SYNC = "sync"
    """The checkpoint age is past the point from which flushing is forced."""
    DIRTY_PAGES = "dirty_pages"
    """Dirty pages exceed `innodb_max_dirty_pages_pct` or its low-water mark."""
    CHECKPOINT_AGE = "checkpoint_age"
    """Adaptive flushing: the age is above `innodb_adaptive_flushing_lwm`."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushLimits:
    """Thresholds of flushing; ages in bytes. None: the server does not report the threshold or has none."""

    hard: int | None
    """The age at which statements wait."""
    sync: int | None
    adaptive: int | None
    """Checkpoint age in bytes above which adaptive flushing follows the rate of redo."""
    dirty_share: float | None
    """Share of the pool's pages that may be dirty before the server flushes."""
    pool_pages: int

    def driver(self, sample: Sample) -> Driver | None:
        """Return the reason for flushing; None where the server does not report its checkpoint age."""
        age, dirty, share = sample.checkpoint_age, sample.dirty_pages, self.dirty_share
        if age is None:
            return None
        if self.hard is not None and age >= self.hard:
            return Driver.WAITING
        if self.sync is not None and age >= self.sync:
            return Driver.SYNC
        if dirty is not None and share is not None and self.pool_pages and dirty >= share * self.pool_pages:
            return Driver.DIRTY_PAGES
        if self.adaptive is not None and age >= self.adaptive:
            return Driver.CHECKPOINT_AGE
        return Driver.NOTHING

    def seconds_until_waiting(self, before: Sample | None, now: Sample) -> float | None:
        """Return the seconds until statements wait at the growth between the samples; infinite without growth.

        None if it is unknown: at the first sample after the server started, or without an age.
        """
        if self.hard is None or before is None or before.checkpoint_age is None or now.checkpoint_age is None:
            return None
        if now.checkpoint_age >= self.hard:
            return 0.0
        seconds, grown = now.monotonic - before.monotonic, now.checkpoint_age - before.checkpoint_age
        if seconds <= 0:
            return None
        return math.inf if grown <= 0 else (self.hard - now.checkpoint_age) / grown * seconds


def flush_limits(variables: Mapping[str, str], hard: int | None, sync: int | None, page_size: int) -> FlushLimits:
    """Return the thresholds, from a server's variables and the ages that it or its version's formula gives.

    `innodb_adaptive_flushing_lwm` is a percentage of the log's capacity. `innodb_max_dirty_pages_pct` and its
    low-water mark are percentages of the pool; a low-water mark of 0 is none (MySQL 8.4 Reference Manual, InnoDB
    Startup Options and System Variables).
    """
    low, most = (_number(variables, name) for name in ("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct"))
    adapts = variables.get("innodb_adaptive_flushing", "").lower() in _ON
    mark = _number(variables, "innodb_adaptive_flushing_lwm")
    dirty = low or most
    return FlushLimits(
        hard=hard,
        sync=sync,
        adaptive=None if not adapts or mark is None or hard is None else round(hard * mark / _PERCENT),
        dirty_share=None if dirty is None else dirty / _PERCENT,
        pool_pages=int(variables.get("innodb_buffer_pool_size", 0)) // page_size,
    )


def _number(variables: Mapping[str, str], name: str) -> float | None:
    try:
        return float(variables[name])
    except (KeyError, ValueError):
        return None
