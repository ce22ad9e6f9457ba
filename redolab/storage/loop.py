"""A block device of its own: a file behind a loop device, whose counters tell what really reached it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redolab.errors import CommandFailed, LabError
from redolab.hosts import Command, Host

_SECTOR = 512
"""Bytes of a sector in the kernel's counters, whatever the device's own (Documentation/block/stat.rst)."""
_SECTORS_WRITTEN = 6
"""Their place in /sys/block/NAME/stat."""
# Blocks as on the disks of production machines; no journal, so that what is counted is the log and hardly anything else.
_FILE_SYSTEM = ["mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "^has_journal", "-E", "lazy_itable_init=0,nodiscard"]


class LoopDisk:
    """A mounted file system that has a block device to itself."""

    def __init__(self, host: Host, folder: Path, device: str) -> None:
        self.folder = folder
        self._host = host
        self._counters = Path("/sys/block") / device / "stat"

    @classmethod
    @contextmanager
    def attached(cls, host: Host, folder: Path, size: int, owner: int | None) -> Iterator[LoopDisk]:
        """While in it: a file system of `size` bytes is mounted at `folder`, its file beside it, and belongs to `owner`.

        To be called with the folder in the ledger as `mounted`. Raises `LabError` with the reason where this host
        offers no loop devices, or the lab is not root.
        """
        if not host.is_root():
            raise LabError("a block device of its own needs root")
        file = folder.with_name(f"{folder.name}.disk")
        host.files.make_folder(folder)
        try:
            host.run(Command(["truncate", "--size", str(size), str(file)]))
            host.run(Command([*_FILE_SYSTEM, str(file)]))
            host.run(Command(["mount", "-o", "loop,noatime", str(file), str(folder)]))
        except CommandFailed as error:
            said = error.details[-1] if error.details else error.problem
            raise LabError(f"a block device of its own cannot be had here ({said})") from error
        try:
            if owner is not None:
                host.run(Command(["chown", f"{owner}:{owner}", str(folder)]))
            found = host.run(Command(["findmnt", "--noheadings", "--output", "SOURCE", str(folder)])).out
            yield cls(host, folder, Path(found.strip()).name)
        finally:
            host.unmount(folder)
            host.files.remove(file)

    def bytes_written(self) -> int:
        """Bytes sent to the device so far, those that still waited in the page cache included: they are sent first."""
        self._host.run(Command(["sync", "--file-system", str(self.folder)]))
        counters = self._host.files.read(self._counters).split()
        return int(counters[_SECTORS_WRITTEN]) * _SECTOR
