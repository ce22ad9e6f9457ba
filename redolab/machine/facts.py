"""Facts about a machine, its disks and its processes, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from redolab.units import format_size


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """Disk under a folder; sizes in bytes."""

    device: str
    model: str
    rotational: bool | None
    file_system: str
    mount_options: str
    size: int
    free: int


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine's hardware and system; sizes in bytes."""

    cpu: str
    cores: int
    memory: int
    kernel: str
    system: str
    virtualisation: str
    disk: Disk

    def in_words(self) -> str:
        """Return a description such as `2 cores of AMD EPYC, 23.5G of memory, ext4 on /dev/vda`."""
        return f"{self.cores} cores of {self.cpu}, {format_size(self.memory)} of memory, {self.disk.file_system} on {self.disk.device}"


MOST_REQUESTS = 128
"""Requests that the loop driver takes at a time; the kernel sizes a scheduler up to this (block/blk-mq-sched.h)."""

Scheduler = Literal["none", "mq-deadline", "kyber", "bfq"]
"""The kernel's I/O schedulers (Documentation/block)."""


class RequestQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Kernel settings for the requests of a device (Documentation/ABI/stable/sysfs-block)."""

    scheduler: Scheduler = "none"
    rotational: bool = False
    depth: int = MOST_REQUESTS
    """Requests that the device takes at a time; a scheduler in the kernel sorts and merges waiting ones."""


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """Counters of a device since it appeared: completed requests, bytes, and times in seconds."""

    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    busy: float
    """Seconds with at least one request in flight."""
    waited: float
    """Seconds that all requests together were in flight."""


class DeviceUse(msgspec.Struct, frozen=True, kw_only=True):
    """Use of a device over a period; sizes in bytes, times in seconds."""

    seconds: float
    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    busy: float
    queue: float
    """Requests in flight, on average over the time in which there were any."""


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """Duration and method of a copy of a folder; `seconds` of wall time."""

    seconds: float
    reflink: bool
    """Blocks shared instead of copied: no data was moved."""


class CpuUse(msgspec.Struct, frozen=True, kw_only=True):
    """CPU time that a process has used, in seconds."""

    seconds: float
    """CPU time of all threads, including those that have ended."""
    busiest_thread: float | None
    """CPU time of the busiest thread that was examined; None if none was."""
    cores: int | None
    """CPUs of the machine."""


class Disturbance(msgspec.Struct, frozen=True, kw_only=True):
    """CPU time that others used during a measurement, in seconds summed over all CPUs."""

    others: float
    """User time of programs that the lab did not start."""
    steal: float
    """Time that the host gave to other virtual machines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSample(DeviceCounters):
    """Counters of the device since it appeared, and of the CPUs since the machine was started, at one instant."""

    monotonic: float
    cpu_busy: float
    """Busy seconds, summed over all CPUs."""
    cpu_all: float
    """Elapsed seconds, summed over all CPUs."""
