"""The machine's clocks."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment on both clocks, in seconds: durations come from `monotonic` only."""

    monotonic: float
    wall: float


def now() -> Instant:
    """This moment."""
    return Instant(monotonic=time.monotonic(), wall=time.time())
