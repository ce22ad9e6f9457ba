"""The redo counters of a server at one instant.

A sample is one statement: LSN and `os_log_written` from two statements belong to two instants, and their ratio to none.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from redolab.clock import Instant

C = TypeVar("C", bound="Counters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What a server says of its redo log; None where it does not say. Sizes and ages in bytes, LSNs as they are."""

    lsn: int | None = None
    flushed_lsn: int | None = None
    checkpoint_lsn: int | None = None
    checkpoint_age: int | None = None
    sync_flush_point: int | None = None
    """The age from which on the server forces flushing; MariaDB 10.5 and later: the hard limit."""
    hard_limit: int | None = None
    """The age at which statements wait for that flushing."""
    os_log_written: int | None = None
    log_padded: int | None = None
    log_writes: int | None = None
    log_write_requests: int | None = None
    log_waits: int | None = None
    """Times that a statement waited for room in the log buffer."""
    dirty_pages: int | None = None
    pages_written: int | None = None
    page_size: int | None = None
    uptime: int | None = None

    def with_age(self: C) -> C:
        """These with the checkpoint age, where both its ends are known and the server does not say it itself."""
        if self.lsn is None or self.checkpoint_lsn is None or self.checkpoint_age is not None:
            return self
        return replace(self, checkpoint_age=self.lsn - self.checkpoint_lsn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Counters):
    """Counters with the moment they were asked for, in seconds on this machine's clocks."""

    monotonic: float
    wall: float | None
    """None where what was collected does not tell it."""


def sample_at(instant: Instant, counters: Counters) -> Sample:
    """The counters as of an instant."""
    return Sample(monotonic=instant.monotonic, wall=instant.wall, **asdict(counters))
