"""File systems in files: a file behind a loop device, mounted."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from redolab.errors import CommandFailed, LabError
from redolab.machine import files, mounts, processes
from redolab.machine.device import BlockDevice
from redolab.machine.processes import Command

# Blocks as on the disks of production machines; no journal, so that what is counted is the log and hardly anything else.
_LOG_DISK = ["mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "^has_journal", "-E", "lazy_itable_init=0,nodiscard"]
NEEDS_ROOT = "a block device of its own needs root"


def make_file_system(file: Path, size: int, command: Sequence[str]) -> None:
    """Make a sparse file of `size` bytes with a file system in it. Raises `LabError` if this machine cannot."""
    files.make_folder(file.parent)
    try:
        processes.run(Command(["truncate", "--size", str(size), str(file)]))
        processes.run(Command([*command, str(file)]))
    except CommandFailed as error:
        raise _refused(error) from error


@contextmanager
def mounted(file: Path, folder: Path, options: str = "noatime", *, direct: bool = True) -> Iterator[BlockDevice]:
    """While in it: the file system in `file` is mounted at `folder`; if `direct` past the page cache of the file's own.

    A file that shares its blocks with others can be read past it in larger sectors only than a file system may have.

    To be called with the folder in the journal as `mounted`. Raises `LabError` with the reason where this machine offers no
    loop devices, or the lab is not root.
    """
    if not processes.is_root():
        raise LabError(NEEDS_ROOT)
    files.make_folder(folder)
    device = None
    try:
        try:
            device = _attach(file, direct=direct)
            processes.run(Command(["mount", "-o", options, device, str(folder)]))
        except CommandFailed as error:
            raise _refused(error) from error
        finally:
            if device is not None:
                # While it is mounted, this only has the kernel let go of it at the end, however that comes.
                processes.run(Command(["losetup", "--detach", device]))
        yield BlockDevice(Path(device).name)
    finally:
        mounts.unmount(folder)


@contextmanager
def attached(file: Path) -> Iterator[BlockDevice]:
    """While in it: `file` is a block device, past the page cache of the file's own. It goes when nobody has it open any more.

    Raises `LabError` as `mounted` does.
    """
    if not processes.is_root():
        raise LabError(NEEDS_ROOT)
    try:
        device = Path(_attach(file, direct=True))
    except CommandFailed as error:
        raise _refused(error) from error
    try:
        held = os.open(device, os.O_RDONLY)
    finally:
        # While it is open, this only has the kernel let go of it at the end, however that comes.
        processes.run(Command(["losetup", "--detach", str(device)]))
    try:
        yield BlockDevice(device.name)
    finally:
        os.close(held)


class LoopDisk:
    """A mounted file system that has a block device to itself, whose counters tell what really reached it."""

    def __init__(self, folder: Path, device: BlockDevice) -> None:
        self.folder = folder
        self._device = device

    @classmethod
    @contextmanager
    def attached(cls, folder: Path, size: int, owner: int | None) -> Iterator[LoopDisk]:
        """While in it: a file system of `size` bytes is mounted at `folder`, its file beside it, and belongs to `owner`.

        To be called with the folder in the journal as `mounted`. Raises `LabError` as `mounted` does.
        """
        if not processes.is_root():
            raise LabError(NEEDS_ROOT)
        file = folder.with_name(f"{folder.name}.disk")
        try:
            make_file_system(file, size, _LOG_DISK)
            with mounted(file, folder) as device:
                if owner is not None:
                    processes.run(Command(["chown", f"{owner}:{owner}", str(folder)]))
                yield cls(folder, device)
        finally:
            files.remove(file)

    def device_bytes_written(self) -> int:
        """Bytes sent to the device so far, those that still waited in the page cache included: they are sent first."""
        processes.run(Command(["sync", "--file-system", str(self.folder)]))
        return self._device.counters().written_bytes


def is_buffered(device: BlockDevice) -> bool:
    """Whether what is read from a loop device comes through the page cache of its file's own file system."""
    return (Path("/sys/class/block") / device.name / "loop/dio").read_text().strip() == "0"


def _attach(file: Path, *, direct: bool) -> str:
    attach = ["losetup", "--find", "--show"]
    if direct:
        tried = processes.run(Command([*attach, "--direct-io=on", str(file)]), check=False)
        if tried.status == 0:
            return tried.out.strip()
    # Not every file system lets its files be read past the page cache: whoever measures on it asks `is_buffered`.
    return processes.run(Command([*attach, str(file)])).out.strip()


def _refused(error: CommandFailed) -> LabError:
    said = error.details[-1] if error.details else error.problem
    return LabError(f"a block device of its own cannot be had here ({said})")
