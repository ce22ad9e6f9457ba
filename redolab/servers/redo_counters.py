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
    """Redo counters that a server reports; None for one it does not report. Sizes and ages are in bytes."""

    lsn: int | None = None
    flushed_lsn: int | None = None
    checkpoint_lsn: int | None = None
    checkpoint_age: int | None = None
    sync_flush_point: int | None = None
    """Checkpoint age at which the server begins to force flushing; from MariaDB 10.5 on, the hard limit."""
    hard_limit: int | None = None
    """Checkpoint age at which statements wait for that flushing."""
    os_log_written: int | None = None
    log_padded: int | None = None
    log_writes: int | None = None
    log_write_requests: int | None = None
    log_waits: int | None = None
    """Number of times a statement waited for room in the log buffer."""
    dirty_pages: int | None = None
    pages_written: int | None = None
    page_size: int | None = None
    uptime: int | None = None

    @property
    def fullness(self) -> float | None:
        """Checkpoint age as a share of the age at which statements wait; None if either is not known."""
        return None if self.checkpoint_age is None or not self.hard_limit else self.checkpoint_age / self.hard_limit

    def with_age(self: C) -> C:
        """Return these counters with a checkpoint age from their LSNs, if the server does not report one."""
        if self.lsn is None or self.checkpoint_lsn is None or self.checkpoint_age is not None:
            return self
        return replace(self, checkpoint_age=self.lsn - self.checkpoint_lsn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Counters):
    """Counters with the time at which they were read, in seconds on this machine's clocks."""

    monotonic: float
    wall: float | None
    """Wall time of the reading; None if the source gives no wall time."""


def sample_at(instant: Instant, counters: Counters) -> Sample:
    """Return the counters as a sample taken at an instant."""
    return Sample(monotonic=instant.monotonic, wall=instant.wall, **asdict(counters))
