"""Block devices: which one a folder lies on, and what the kernel has counted on it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from redolab.hosts import Command, Host

_SECTOR = 512
"""Bytes of a sector in the kernel's counters, whatever the device's own (Documentation/block/stat.rst)."""
_QUIET = 0.05


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


class BlockDevice:
    """A block device of a host, by its name under /sys/class/block."""

    def __init__(self, host: Host, name: str) -> None:
        self.name = name
        self._host = host

    @classmethod
    def under(cls, host: Host, folder: Path) -> BlockDevice | None:
        """The device that a folder lies on; None where the file system has none of its own."""
        found = host.run(
            Command(["findmnt", "--noheadings", "--first-only", "--output=MAJ:MIN", "--target", str(folder)]),
            check=False,
        ).out.strip()
        link = Path("/sys/dev/block") / found
        if not found or not host.files.exists(link):
            return None
        return cls(host, Path(host.run(Command(["readlink", "--canonicalize", str(link)])).out.strip()).name)

    def wait_quiet(self, seconds: float) -> None:
        """Wait until it has had nothing to do for a while, at most so many seconds."""
        deadline = self._host.now().monotonic + seconds
        last = self.counters().busy
        while self._host.now().monotonic < deadline:
            time.sleep(_QUIET)
            now = self.counters().busy
            if now == last:
                return
            last = now

    def counters(self) -> DeviceCounters:
        """What it has done up to now."""
        fields = [int(field) for field in self._host.files.read(Path("/sys/class/block") / self.name / "stat").split()]
        return DeviceCounters(
            reads=fields[0],
            read_bytes=fields[2] * _SECTOR,
            writes=fields[4],
            written_bytes=fields[6] * _SECTOR,
            busy=fields[9] / 1000,
            waited=fields[10] / 1000,
        )


def use_between(before: DeviceCounters, after: DeviceCounters, seconds: float) -> DeviceUse:
    """What happened between two readings that lie so many seconds apart."""
    busy = after.busy - before.busy
    return DeviceUse(
        seconds=seconds,
        reads=after.reads - before.reads,
        read_bytes=after.read_bytes - before.read_bytes,
        writes=after.writes - before.writes,
        written_bytes=after.written_bytes - before.written_bytes,
        busy=busy,
        queue=(after.waited - before.waited) / busy if busy else 0.0,
    )
