"""Files and folders of this machine: written whole or not at all, copied, hashed, measured, removed."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import xxhash

from redolab.errors import DiskFull

STILL_WRITTEN = 5.0
"""Seconds for which processes killed with the lab may still be writing their last files."""


def write_whole(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file to the disk, whole or not at all, and its folder with it. Raises `DiskFull`.

    Its mode is never wider than `mode`, also while it is written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    # Whatever has that name, such as a link that somebody else made, is not written to.
    partial.unlink(missing_ok=True)
    try:
        with open(partial, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise explained(error, path) from error
    finally:
        partial.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Sync a folder's names to the disk, if its file system can."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path, *, mode: int = 0o755, owner: int | None = None) -> None:
    """Make a folder, and those above it, unless it is there; `owner` is a user's number. Raises `DiskFull`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explained(error, path) from error
    if stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)
    if owner is not None and path.stat().st_uid != owner:
        os.chown(path, owner, owner)


def names(folder: Path) -> Sequence[str]:
    """Return the names in a folder, sorted; empty if there is no such folder."""
    return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []


def move(path: Path, to: Path) -> None:
    """Move within one file system, at once."""
    to.parent.mkdir(parents=True, exist_ok=True)
    path.rename(to)


def remove(path: Path) -> None:
    """Remove a file or a folder with all in it; nothing happens if it is not there."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    deadline = time.monotonic() + STILL_WRITTEN
    while path.exists():
        try:
            shutil.rmtree(path)
        except OSError as error:
            # A process killed with the lab may still be writing its last file.
            if error.errno not in (errno.ENOTEMPTY, errno.EBUSY) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def remove_marked(folder: Path, mark: str) -> None:
    """Remove a folder that has a mark. The mark goes first, so that half a folder does not pass for a whole one."""
    if not folder.is_symlink():
        remove(folder / mark)
    remove(folder)


def hash_folder(folder: Path) -> Mapping[str, str]:
    """Return the hash of the content (XXH3, 128 bits) of every file in a folder, by relative path."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return {
            str(path.relative_to(folder)): digest
            for path, digest in zip(found, pool.map(_hash_file, found), strict=True)
        }


def folder_size(folder: Path) -> int:
    """Return the bytes that a folder takes on its disk."""
    size = 0
    for path in [folder, *folder.rglob("*")]:
        with suppress(FileNotFoundError):
            size += path.lstat().st_blocks * 512
    return size


def free_space(path: Path) -> int:
    """Return the bytes free for the lab on the file system that holds `path`, or would hold it."""
    return psutil.disk_usage(str(there(path))).free


def file_system(path: Path) -> int:
    """Return the number of the file system that holds `path`, or would hold it."""
    return there(path).stat().st_dev


def there(path: Path) -> Path:
    """Return `path`, or the nearest folder above it that exists."""
    while not path.exists():
        path = path.parent
    return path


def explained(error: OSError, path: Path) -> Exception:
    """Return the error in a form that a person can act on, if there is one."""
    return disk_full(path) if error.errno == errno.ENOSPC else error


def _hash_file(path: Path) -> str:
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()


def disk_full(path: Path) -> DiskFull:
    """Return the error for a full disk."""
    return DiskFull(f"the disk under {path} is full", "free some space ('redolab runs' and 'redolab images' help)")
