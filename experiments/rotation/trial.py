"""What is measured: a rotation under load, beside a stretch of the same load without one."""

from __future__ import annotations

import msgspec

from .methods import Method


class RotationCell(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of the factors."""

    server: str
    storage: str
    file_system: str
    method: Method
    held: bool
    """Whether logging was held meanwhile."""
    log_file: int
    """Bytes that the log was grown to before the load."""


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Some seconds of the load."""

    seconds: int
    per_second: float
    """Statements answered in a second, the median."""
    longest_ms: float
    """The longest time that a statement took, in milliseconds from when it was due."""
    slow_seconds: int
    """Seconds in which less than half of the load's median was answered."""


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a rotation."""

    name: str
    began_s: float
    """Seconds after the rotation began."""
    seconds: float
    """How long it took."""
    longest_ms: float
    """The longest answer to a statement that was on its way in that time, in milliseconds from when it was sent."""


class LogCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The numbered statements that were sent, held against the old and the new log: counts of statements."""

    sent: int
    logged: int
    """Of these, in the logs."""
    lost: int
    """Not in the logs, with no reason for it."""
    lost_s: float
    """Seconds from the first lost one to the last, by when they were sent."""
    unlogged: int
    """Not in the logs, as logging was held."""
    removed: int
    """Not in the logs, as the file that they went to was removed."""
    twice: int
    """In the logs more than once."""
    torn: int
    """Records in the logs that are there in part."""


class TableCounters(msgspec.Struct, frozen=True, kw_only=True):
    """What the server's status says of its tables; None where it has no such variable."""

    flush_commands: int | None = None
    com_flush: int | None = None
    opened_tables: int | None = None
    open_tables: int | None = None


class RotationTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One rotation."""

    cell: RotationCell
    version: str
    repeat: int
    log_bytes: int
    """The log when the rotation began."""
    without: Stretch
    """The stretch before it."""
    during: Stretch
    """The stretch in which it was."""
    phases: tuple[Phase, ...]
    """In order."""
    rotation_s: float
    """Seconds that it took, those of waiting included."""
    check: LogCheck
    before: TableCounters
    """When clients had begun and idle tables were open."""
    after: TableCounters
    """When the clients were done."""
    idle_tables: int
    """Tables that were open before and that no client reads."""
    late_share: float | None
    """How late the disk model answered, as a share of its latencies; None of a disk that is no model."""
    buffered: bool = False
    """Whether the modelled disk's file is read through the page cache, so that it is quicker than it is to be."""
    instance: str = ""
    """The hash under which the run keeps the server's settings and variables."""

    @property
    def more_ms(self) -> float:
        """By how much the longest time of a statement is longer with the rotation than without."""
        return self.during.longest_ms - self.without.longest_ms

    @property
    def flushed_tables(self) -> bool | None:
        """Whether the tables were closed that nobody read meanwhile; None where the server does not say how many are open."""
        before, after = self.before.open_tables, self.after.open_tables
        if before is None or after is None:
            return None
        return before - after > self.idle_tables / 2
