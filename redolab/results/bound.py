"""The resource that bounded a recovery: a pure function of its use of disk and CPUs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

BOUND_COLUMNS = (
    "ready_s",
    "cpu_s",
    "busiest_thread_s",
    "cores",
    "device_busy",
    "device_reads",
    "device_read_bytes",
    "device_writes",
)
"""Columns of a recovery that tell its bound (docs/run-data.md)."""
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


def bound_of(row: Mapping[str, Any]) -> Bound | None:
    """Return the resource that bounded a recovery; None where its disk or the CPUs were not measured.

    `row` has `BOUND_COLUMNS`. The largest of three shares of the time decides: one thread ran, all cores ran, or the disk
    was busy. If none reaches half, return `NEITHER`. A mean read of 64 KiB or more means a sequential scan of the redo
    log; pages are read in 16 KiB.
    """
    if any(row[name] is None for name in BOUND_COLUMNS):
        return None
    all_cores, one_core, disk = row["cpu_s"] / row["cores"], row["busiest_thread_s"], row["device_busy"]
    if max(all_cores, one_core, disk) < _HARDLY * row["ready_s"]:
        return Bound.NEITHER
    if all_cores >= max(one_core, disk):
        return Bound.ALL_CORES
    if one_core >= disk:
        return Bound.ONE_CORE
    if row["device_writes"] > row["device_reads"]:
        return Bound.WRITES
    return Bound.SCAN if row["device_read_bytes"] >= _IN_A_ROW * row["device_reads"] else Bound.RANDOM_READS
