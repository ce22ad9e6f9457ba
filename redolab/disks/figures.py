"""Figures of a disk: the profile's targets, fio's measurements, and the error of one against the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from redolab.machine.facts import Disk

OFF = 0.10
"""Share by which a figure may be off before rows measured on that disk are marked."""


class FioLoad(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one load of fio: mean rates, and mean, 50th and 99th percentile of the latency in microseconds."""

    latency_us: float
    p50_us: float
    p99_us: float
    per_second: float
    mb_s: float


class MeasuredDisk(msgspec.Struct, frozen=True, kw_only=True):
    """Performance of a disk, as fio measured it."""

    read: FioLoad
    """Random reads of 16 KiB, one at a time."""
    queued_read: FioLoad
    """Random reads of 16 KiB, 32 at a time."""
    write: FioLoad
    """Random writes of 16 KiB, one at a time."""
    sequential: FioLoad
    """Reads of 1 MiB in a row, 4 at a time."""
    append: FioLoad
    """Writes of 512 bytes in a row, each synced; the latency is that of write and sync."""
    in_order: FioLoad | None = None
    """Reads and writes of 32 KiB in file order, with gaps of that size, 32 at a time: a recovery's access to its pages.

    None in disks measured before this load existed.
    """


class DiskTarget(msgspec.Struct, frozen=True, kw_only=True):
    """Performance that a profile promises; None where it promises nothing."""

    read_us: float | None = None
    queued_reads_per_second: float | None = None
    write_us: float | None = None
    sequential_mb_s: float | None = None
    append_us: float | None = None


class DiskCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A disk's promised and measured performance."""

    storage: str
    scheduler: str | None = None
    """I/O scheduler of the kernel for the disk."""
    asked: DiskTarget
    got: MeasuredDisk
    overhead_us: float | None = None
    """Latency of the disk model itself, in microseconds; the lab subtracts it from the modelled latencies."""


class StorageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A storage of a run: the disk under it, and fio's measurements if they were asked for."""

    storage: str
    about: str
    lies_on: Disk | None = None
    """The disk under its folder, or under the file that a disk model serves; None in memory."""
    check: DiskCheck | None = None
    session: int = 0
    """The place of the run's session in which it was recorded: another machine has other disks."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a disk, in promises and in measurements."""

    name: str
    column: str
    """Name of the column in frames, unit included."""
    unit: str
    asked: Callable[[DiskTarget], float | None]
    got: Callable[[MeasuredDisk], float | None]

    def error(self, check: DiskCheck) -> float | None:
        """Return the relative error of the measured figure against its target; None if either is missing."""
        asked, got = self.asked(check.asked), self.got(check.got)
        return None if not asked or got is None else got / asked - 1


FIGURES = (
    Figure("random read of 16 KiB", "read_us", "us", lambda disk: disk.read_us, lambda disk: disk.read.latency_us),
    Figure(
        "random reads, 32 at a time",
        "queued_reads_per_s",
        "/s",
        lambda disk: disk.queued_reads_per_second,
        lambda disk: disk.queued_read.per_second,
    ),
    Figure("random write of 16 KiB", "write_us", "us", lambda disk: disk.write_us, lambda disk: disk.write.latency_us),
    Figure(
        "sequential read",
        "sequential_mb_s",
        "MB/s",
        lambda disk: disk.sequential_mb_s,
        lambda disk: disk.sequential.mb_s,
    ),
    Figure(
        "synced append of 512 bytes",
        "append_us",
        "us",
        lambda disk: disk.append_us,
        lambda disk: disk.append.latency_us,
    ),
    Figure(
        "reads and writes in order",
        "in_order_mb_s",
        "MB/s",
        lambda _: None,
        lambda disk: None if disk.in_order is None else disk.in_order.mb_s,
    ),
)


def figures_off(check: DiskCheck) -> list[Figure]:
    """Return the figures whose error is more than a tenth."""
    return [figure for figure in FIGURES if abs(figure.error(check) or 0.0) > OFF]
