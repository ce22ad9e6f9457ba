"""Block devices: the device under a folder, the kernel's settings for its requests, and its counters."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from redolab.clock import now
from redolab.errors import CommandFailed, LabError
from redolab.machine import files, processes
from redolab.machine.facts import MOST_REQUESTS, DeviceCounters, DeviceUse, RequestQueue
from redolab.machine.processes import Command

_SECTOR = 512
"""Bytes of a sector in the kernel's counters, whatever the device's own (Documentation/block/stat.rst)."""
_QUIET = 0.05
_READ_AHEAD_KIB = 128
"""KiB of read-ahead for files read through the page cache: the kernel's value for a disk that states no preference."""


class BlockDevice:
    """A block device, by its name under /sys/class/block."""

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def under(cls, folder: Path) -> BlockDevice | None:
        """Return the device under a folder; None if its file system has no device of its own."""
        number = files.file_system(folder)
        link = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
        return cls(link.resolve().name) if link.exists() else None

    @contextmanager
    def treated_as(self, queue: RequestQueue) -> Iterator[None]:
        """Make the kernel treat the device's requests like those of another disk, as far as it can. Raises `LabError`.

        The settings of a loop device outlive its attachment and would apply to the next one, so they are put back.
        """
        backing_file, scheduler = self._backing_file(), self.scheduler() or "none"
        names = ("nr_requests", "rotational", "read_ahead_kb")
        before = [(name, self._queue_file(name).read_text().strip()) for name in names]
        try:
            self._set_queue(queue)
            yield
        finally:
            if self._backing_file() == backing_file:
                # Before another scheduler its own number of requests, as below.
                self._set([("scheduler", "none"), ("nr_requests", MOST_REQUESTS), ("scheduler", scheduler), *before])

    def _set_queue(self, queue: RequestQueue) -> None:
        depth = min(queue.depth, MOST_REQUESTS)
        # Without a scheduler the number of requests is the device's own, with one the scheduler's.
        self._set([("scheduler", "none"), ("nr_requests", depth), ("scheduler", queue.scheduler)])
        if queue.scheduler != "none":
            self._set([("nr_requests", 2 * depth)])
        self._set([("rotational", int(queue.rotational)), ("read_ahead_kb", _READ_AHEAD_KIB)])

    def _set(
        self,
        settings: Iterable[tuple[str, object]],
        remedy: str = "choose another 'scheduler' in the storage profile",
    ) -> None:
        for name, value in settings:
            try:
                processes.run(Command(["tee", str(self._queue_file(name))], standard_input=f"{value}\n".encode()))
            except CommandFailed as error:
                raise LabError(
                    f"the kernel does not take {value} as {name} of the device {self.name}", remedy, error.details
                ) from error

    @contextmanager
    def as_volatile(self, volatile: bool) -> Iterator[None]:
        """Tell the kernel if the device has a volatile write cache; without one it sends no flushes.

        The setting of a loop device outlives its attachment: it is made in either case, and put back. Raises
        `LabError`.
        """
        backing_file = self._backing_file()
        self._set_write_cache("write back" if volatile else "write through")
        try:
            yield
        finally:
            # A device that serves another file by now has the settings of that file.
            if self._backing_file() == backing_file:
                self._set_write_cache("write back")

    def _backing_file(self) -> str | None:
        """Return the file behind a loop device; None without one, or for another device."""
        try:
            return (Path("/sys/class/block") / self.name / "loop/backing_file").read_text()
        except OSError:
            return None

    def _set_write_cache(self, mode: str) -> None:
        file = self._queue_file("write_cache")
        if file.read_text().strip() == mode:
            return
        remedy = "another kernel may set it"
        self._set([("write_cache", mode)], remedy)
        if (actual := file.read_text().strip()) != mode:
            raise LabError(f"the device {self.name} keeps its write cache as '{actual}'", remedy)

    def scheduler(self) -> str | None:
        """Return the I/O scheduler of the device, or of the disk that it is a partition of; None without one."""
        of_disk = Path("/sys/class/block") / self.name / ".." / "queue" / "scheduler"
        file = next((each for each in (self._queue_file("scheduler"), of_disk) if each.exists()), None)
        if file is None:
            return None
        names = file.read_bytes().decode().split()
        return next((name.strip("[]") for name in names if name.startswith("[")), names[0] if names else None)

    def _queue_file(self, name: str) -> Path:
        return Path("/sys/class/block") / self.name / "queue" / name

    def wait_quiet(self, seconds: float) -> bool:
        """Wait up to `seconds` for the device to be idle. Return whether it was."""
        deadline = now().monotonic + seconds
        last = self.counters().busy
        while now().monotonic < deadline:
            time.sleep(_QUIET)
            busy = self.counters().busy
            if busy == last:
                return True
            last = busy
        return False

    def counters(self) -> DeviceCounters:
        """Return the device's counters."""
        fields = [int(field) for field in (Path("/sys/class/block") / self.name / "stat").read_bytes().split()]
        return DeviceCounters(
            reads=fields[0],
            read_bytes=fields[2] * _SECTOR,
            writes=fields[4],
            written_bytes=fields[6] * _SECTOR,
            busy=fields[9] / 1000,
            waited=fields[10] / 1000,
        )


def use_between(before: DeviceCounters, after: DeviceCounters, seconds: float) -> DeviceUse:
    """Return the use between two readings `seconds` apart."""
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
