"""Undoing mounts and loop devices."""

from __future__ import annotations

import time
from pathlib import Path

import psutil

from redolab.machine.files import STILL_WRITTEN
from redolab.machine.processes import Command, is_root, run


def unmount(folder: Path) -> None:
    """Unmount everything at `folder` and below, and release the loop devices there. Raises `CommandFailed`."""
    folder = folder.resolve()
    # A loop device that is mounted goes with its mount; one that is not would hold the disk model that serves its file.
    _detach_loops(folder)
    for mount_point in reversed(mounted_in(folder)):
        _run_until_done(Command(["umount", str(mount_point)]))


def mounted_in(folder: Path) -> list[Path]:
    """Return the mount points at or below a folder, in the order of mounting."""
    folder = folder.resolve()
    mounted = [Path(partition.mountpoint) for partition in psutil.disk_partitions(all=True)]
    return [mount_point for mount_point in mounted if mount_point.is_relative_to(folder)]


def _detach_loops(folder: Path) -> None:
    if not is_root():
        return
    listed = run(Command(["losetup", "--list", "--noheadings", "--output=NAME,BACK-FILE"]), check=False).out
    for line in listed.splitlines():
        device, _, file = line.partition(" ")
        if Path(file.strip().removesuffix(" (deleted)")).is_relative_to(folder):
            run(Command(["losetup", "--detach", device]), check=False)


def _run_until_done(command: Command) -> None:
    """Run the command until it succeeds: a killed process may hold a mount for a moment. Raises `CommandFailed`."""
    deadline = time.monotonic() + STILL_WRITTEN
    while run(command, check=time.monotonic() > deadline).status != 0:
        time.sleep(0.05)
