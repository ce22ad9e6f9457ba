"""What is known of a machine, its disks and its processes, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from redolab.units import format_size


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder lies on."""

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
        """As in `2 cores of AMD EPYC, 23.5G of memory, ext4 on /dev/vda`."""
        return f"{self.cores} cores of {self.cpu}, {format_size(self.memory)} of memory, {self.disk.file_system} on {self.disk.device}"


MOST_REQUESTS = 128
"""What the loop driver takes at a time, and up to where the kernel sizes a scheduler by its device (block/blk-mq-sched.h)."""

Scheduler = Literal["none", "mq-deadline", "kyber", "bfq"]
"""The kernel's I/O schedulers (Documentation/block)."""


class RequestQueue(msgspec.Struct, frozen=True, kw_only=True):
    """How the kernel treats the requests of a device (Documentation/ABI/stable/sysfs-block)."""

    scheduler: Scheduler = "none"
    rotational: bool = False
    depth: int = MOST_REQUESTS
    """Requests that the device takes at a time; what is more waits in the kernel, where a scheduler sorts and merges it."""


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """What a device has done since it was there: requests completed, bytes, and the time in which it had some, in seconds."""

    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    busy: float
    """While at least one request was in flight."""
    waited: float
    """Of all requests together."""


class DeviceUse(msgspec.Struct, frozen=True, kw_only=True):
    """What a device did in a stretch of time; sizes in bytes, times in seconds."""

    seconds: float
    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    busy: float
    queue: float
    """Requests in flight, on average over the time in which there were any."""


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """How a copy of a folder was made."""

    seconds: float
    reflink: bool
    """Blocks shared instead of copied: no data was moved."""


class CpuUse(msgspec.Struct, frozen=True, kw_only=True):
    """Processor time that a process has used, in seconds."""

    seconds: float
    """Of all its threads, those included that have ended."""
    busiest_thread: float | None
    """Of the thread that has used most, of those that were looked at; None where none was."""
    cores: int | None
    """How many the machine has."""


class Disturbance(msgspec.Struct, frozen=True, kw_only=True):
    """What others took of the processors meanwhile, in seconds of all of them together."""

    others: float
    """Programs that the lab did not start, in user mode."""
    steal: float
    """The host, for other virtual machines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSample(DeviceCounters):
    """Counts of the device since it was there, and of the processors since the machine was started, at one instant."""

    monotonic: float
    cpu_busy: float
    """Seconds that all processors together have spent on something."""
    cpu_all: float
    """Seconds that all processors together have had."""
