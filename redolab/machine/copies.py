"""Copies of folders, sharing blocks where the file system can."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

from redolab.errors import CommandFailed, DiskFull
from redolab.machine.description import read_disk
from redolab.machine.facts import Copy
from redolab.machine.files import disk_full, remove
from redolab.machine.processes import Command, Output, run

_PATIENCE = 24 * 3600.0
_SHARING = ("xfs", "btrfs", "bcachefs")


def shares_blocks(folder: Path) -> bool:
    """Return True if the folder's file system copies files by sharing their blocks, which takes almost no time."""
    return read_disk(folder).file_system in _SHARING


def copy_folder(source: Path, to: Path, *, durable: bool = True) -> Copy:
    """Copy a folder with owners and modes, sharing blocks where the file system can; if `durable`, have it on the disk.

    What was copied is removed again when it cannot be finished. Raises `DiskFull`, `CommandFailed`.
    """

    def copied(reflink: str) -> Output:
        command = ["cp", "--archive", f"--reflink={reflink}", "--no-target-directory", str(source), str(to)]
        return run(Command(command), seconds=_PATIENCE, check=False)

    to.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        reflink = copied("always").status == 0
        if not reflink:
            remove(to)
            second = copied("never")
            if second.status != 0:
                raise _copy_error(source, to, second.err)
        if durable:
            synced = run(Command(["sync", "--file-system", str(to)]), seconds=_PATIENCE, check=False)
            if synced.status != 0:
                raise _copy_error(source, to, synced.err)
    except BaseException:
        remove(to)
        raise
    return Copy(seconds=time.monotonic() - began, reflink=reflink)


def _copy_error(source: Path, to: Path, message: str) -> CommandFailed | DiskFull:
    if os.strerror(errno.ENOSPC) in message:
        return disk_full(to)
    last = message.strip().splitlines()[-3:]
    return CommandFailed(f"{source} could not be copied to {to}", details=last)
