"""The machine's clocks."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_STARTED = 19
"""Index of the start time, in ticks, among the fields of `process_fields` (starttime in proc_pid_stat(5))."""


@dataclass(frozen=True, slots=True)
class Instant:
    """An instant on both clocks, in seconds: durations come from `monotonic` only."""

    monotonic: float
    wall: float

    def wall_at(self, monotonic: float) -> float:
        """Return the wall time of another monotonic time, if nobody sets the wall clock in between."""
        return self.wall + (monotonic - self.monotonic)

    def monotonic_at(self, wall: float) -> float:
        """Return the monotonic time of another wall time, if nobody sets the wall clock in between."""
        return self.monotonic + (wall - self.wall)


def now() -> Instant:
    """Return the current time on both clocks."""
    return Instant(monotonic=time.monotonic(), wall=time.time())


def process_start(pid: int) -> float:
    """Return when a process started, in seconds of the monotonic clock. Raises `OSError` if it is gone.

    The kernel keeps ticks since boot: setting the wall clock does not move them.
    """
    since_boot = int(process_fields(pid)[_STARTED]) / os.sysconf("SC_CLK_TCK")
    return time.monotonic() - (time.clock_gettime(time.CLOCK_BOOTTIME) - since_boot)


def process_fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat behind the process name. Raises `OSError` if it is gone."""
    # The name stands in parentheses, and may have spaces and parentheses itself.
    return Path("/proc", str(pid), "stat").read_text(errors="replace").rpartition(")")[2].split()
