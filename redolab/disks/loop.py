"""File systems in files: a file behind a loop device, mounted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redolab.errors import CommandFailed, LabError
from redolab.machine import files, mounts, processes
from redolab.machine.device import BlockDevice
from redolab.machine.processes import Command

# Blocks as on production disks, and no journal: the counters then show hardly anything but the log.
_LOG_DISK = ["mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "^has_journal", "-E", "lazy_itable_init=0,nodiscard"]


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
    """Mount the file system in `file` at `folder` for the block; if `direct`, bypass the page cache for `file`.

    Bypassing needs larger sectors than a file system may have if the file shares its blocks with others.

    The journal must already have the folder as `mounted`. Raises `LabError` with the reason if this machine offers no
    loop devices or the lab is not root.
    """
    _check_root()
    files.make_folder(folder)
    try:
        try:
            device = _attach(file, direct=direct)
            try:
                processes.run(Command(["mount", "-o", options, device, str(folder)]))
            finally:
                # While it is mounted the kernel only marks it, and releases it at the end, however the end comes.
                processes.run(Command(["losetup", "--detach", device]))
        except CommandFailed as error:
            raise _refused(error) from error
        yield BlockDevice(Path(device).name)
    finally:
        mounts.unmount(folder)


@dataclass(frozen=True, slots=True)
class LoopDisk:
    """A mounted file system with a block device to itself, whose counters tell the bytes that really reached it."""

    folder: Path
    device: BlockDevice

    @classmethod
    @contextmanager
    def attached(cls, folder: Path, size: int, owner: int | None) -> Iterator[LoopDisk]:
        """Mount a new file system of `size` bytes at `folder` for the block, its file beside it; it belongs to `owner`.

        The journal must already have the folder as `mounted`. Raises `LabError` as `mounted` does.
        """
        _check_root()
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
        """Return the bytes sent to the device so far; bytes that waited in the page cache are sent first."""
        processes.run(Command(["sync", "--file-system", str(self.folder)]))
        return self.device.counters().written_bytes


def is_buffered(device: BlockDevice) -> bool:
    """Return True if reads of a loop device go through the page cache of the file system that holds its file."""
    return (Path("/sys/class/block") / device.name / "loop/dio").read_text().strip() == "0"


def _check_root() -> None:
    if not processes.is_root():
        raise LabError("a block device of its own needs root")


def _attach(file: Path, *, direct: bool) -> str:
    attach = ["losetup", "--find", "--show"]
    if direct:
        tried = processes.run(Command([*attach, "--direct-io=on", str(file)]), check=False)
        if tried.status == 0:
            return tried.out.strip()
    # Some file systems do not let their files bypass the page cache; a measurement checks `is_buffered`.
    return processes.run(Command([*attach, str(file)])).out.strip()


def _refused(error: CommandFailed) -> LabError:
    # mount tells the reason first, and then where to look for more.
    reason = error.details[0].strip() if error.details else error.problem
    return LabError(f"a block device of its own cannot be had here ({reason})")
