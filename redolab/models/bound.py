"""What a recovery was bound by: a pure function of what its disk and its processors did."""

from __future__ import annotations

from enum import StrEnum

_HARDLY = 0.5
_IN_A_ROW = 64 * 1024


class Bound(StrEnum):
    """What was busy most of the time."""

    SCAN = "sequential reads"
    RANDOM_READS = "random reads"
    WRITES = "writes"
    ONE_CORE = "one core"
    ALL_CORES = "all cores"
    NEITHER = "neither"


def bound_by(
    *,
    seconds: float,
    cpu: float,
    busiest_thread: float,
    cores: int,
    busy: float,
    reads: int,
    read_bytes: int,
    writes: int,
) -> Bound:
    """What a recovery of so many `seconds` was bound by.

    `cpu`: processor time of all the server's threads, `busiest_thread`: of the busiest, both in seconds, on so many `cores`;
    `busy`: seconds in which its disk had a request; `reads`, `writes`: requests; `read_bytes`: bytes. Of the shares of the
    time in which one thread ran, in which all cores did, and in which the disk had something to do, the largest; if that is
    less than half, neither. A disk whose mean read is 64 KiB or more reads in a row, as the scan of the redo log does;
    pages are read by 16 KiB.
    """
    all_cores, one_core, disk = cpu / cores, busiest_thread, busy
    if max(all_cores, one_core, disk) < _HARDLY * seconds:
        return Bound.NEITHER
    if all_cores >= max(one_core, disk):
        return Bound.ALL_CORES
    if one_core >= disk:
        return Bound.ONE_CORE
    if writes > reads:
        return Bound.WRITES
    return Bound.SCAN if read_bytes >= _IN_A_ROW * reads else Bound.RANDOM_READS
