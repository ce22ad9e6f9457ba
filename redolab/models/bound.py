"""What a recovery waited for: a pure function of what its disk and its processor did."""

from __future__ import annotations

from enum import StrEnum

_HARDLY = 0.5
_IN_A_ROW = 64 * 1024


class Bound(StrEnum):
    """What took most of the time."""

    SCAN = "sequential reads"
    RANDOM_READS = "random reads"
    WRITES = "writes"
    CPU = "CPU"
    NEITHER = "neither"


def bound_by(*, seconds: float, cpu: float, busy: float, reads: int, read_bytes: int, writes: int) -> Bound:
    """What a recovery of so many `seconds` was bound by.

    `cpu`: seconds of processor time of the server; `busy`: seconds in which its disk had a request; `reads`, `writes`: requests;
    `read_bytes`: bytes. Whichever of processor and disk was at work longer; if that is less than half of the time, neither. A
    disk whose mean read is 64 KiB or more reads in a row, as the scan of the redo log does; pages are read by 16 KiB.
    """
    if max(cpu, busy) < _HARDLY * seconds:
        return Bound.NEITHER
    if cpu >= busy:
        return Bound.CPU
    if writes > reads:
        return Bound.WRITES
    return Bound.SCAN if read_bytes >= _IN_A_ROW * reads else Bound.RANDOM_READS
