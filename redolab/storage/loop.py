"""File systems in files: a file behind a loop device, mounted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from redolab.device import BlockDevice
from redolab.errors import CommandFailed, LabError
from redolab.hosts import Command, Host

# Blocks as on the disks of production machines; no journal, so that what is counted is the log and hardly anything else.
_LOG_DISK = ["mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "^has_journal", "-E", "lazy_itable_init=0,nodiscard"]
NEEDS_ROOT = "a block device of its own needs root"


def make_file_system(host: Host, file: Path, size: int, command: Sequence[str]) -> None:
    """Make a sparse file of `size` bytes with a file system in it. Raises `LabError` if this host cannot."""
    host.files.make_folder(file.parent)
    try:
        host.run(Command(["truncate", "--size", str(size), str(file)]))
        host.run(Command([*command, str(file)]))
    except CommandFailed as error:
        raise _refused(error) from error


@contextmanager
def mounted(host: Host, file: Path, folder: Path) -> Iterator[BlockDevice]:
    """While in it: the file system in `file` is mounted at `folder`, past the page cache of the file's own.

    To be called with the folder in the ledger as `mounted`. Raises `LabError` with the reason where this host offers no
    loop devices, or the lab is not root.
    """
    if not host.is_root():
        raise LabError(NEEDS_ROOT)
    host.files.make_folder(folder)
    device = None
    try:
        try:
            device = _attach(host, file)
            host.run(Command(["mount", "-o", "noatime", device, str(folder)]))
        except CommandFailed as error:
            raise _refused(error) from error
        finally:
            if device is not None:
                # While it is mounted, this only has the kernel let go of it at the end, however that comes.
                host.run(Command(["losetup", "--detach", device]))
        yield BlockDevice(host, Path(device).name)
    finally:
        host.unmount(folder)


class LoopDisk:
    """A mounted file system that has a block device to itself, whose counters tell what really reached it."""

    def __init__(self, host: Host, folder: Path, device: BlockDevice) -> None:
        self.folder = folder
        self._host = host
        self._device = device

    @classmethod
    @contextmanager
    def attached(cls, host: Host, folder: Path, size: int, owner: int | None) -> Iterator[LoopDisk]:
        """While in it: a file system of `size` bytes is mounted at `folder`, its file beside it, and belongs to `owner`.

        To be called with the folder in the ledger as `mounted`. Raises `LabError` as `mounted` does.
        """
        if not host.is_root():
            raise LabError(NEEDS_ROOT)
        file = folder.with_name(f"{folder.name}.disk")
        try:
            make_file_system(host, file, size, _LOG_DISK)
            with mounted(host, file, folder) as device:
                if owner is not None:
                    host.run(Command(["chown", f"{owner}:{owner}", str(folder)]))
                yield cls(host, folder, device)
        finally:
            host.files.remove(file)

    def bytes_written(self) -> int:
        """Bytes sent to the device so far, those that still waited in the page cache included: they are sent first."""
        self._host.run(Command(["sync", "--file-system", str(self.folder)]))
        return self._device.counters().written_bytes


def _attach(host: Host, file: Path) -> str:
    attach = ["losetup", "--find", "--show"]
    direct = host.run(Command([*attach, "--direct-io=on", str(file)]), check=False)
    if direct.status == 0:
        return direct.out.strip()
    # Not every file system lets its files be read past the page cache.
    return host.run(Command([*attach, str(file)])).out.strip()


def _refused(error: CommandFailed) -> LabError:
    said = error.details[-1] if error.details else error.problem
    return LabError(f"a block device of its own cannot be had here ({said})")
