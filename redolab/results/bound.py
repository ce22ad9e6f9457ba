"""The resource that bounded a recovery: a pure function of its use of disk and CPUs."""

from __future__ import annotations

from enum import StrEnum

_HARDLY = 0.5
_IN_A_ROW = 64 * 1024


class Bound(StrEnum):
    """The resource that was busy for most of a recovery."""

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
    """Return the resource that bounded a recovery of `seconds`.

    `cpu` is the CPU time of all the server's threads and `busiest_thread` that of the busiest, both in seconds, on
    `cores` CPUs. `busy` is the seconds in which the disk had a request; `reads` and `writes` count its requests. The
    largest of three shares of the time decides: one thread ran, all cores ran, or the disk was busy. If none reaches
    half, return `NEITHER`. A mean read of 64 KiB or more means a sequential scan of the redo log; pages are read in 16
    KiB.
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
