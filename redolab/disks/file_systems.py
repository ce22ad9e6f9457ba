"""File systems that the lab makes on disks of its own, and a check that this machine has them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from redolab.errors import InvalidInput, LabError
from redolab.units import MIB

if TYPE_CHECKING:
    from redolab.lab import Lab

_EXT = ("-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0")
MADE_BY = {
    "xfs": ("mkfs.xfs", "-q", "-f", "-s", "size=512"),
    "ext4": ("mkfs.ext4", *_EXT),
    # Block lists instead of extents, as in 2014. Kernels since 4.3 mount it with the code of ext4.
    "ext3": ("mkfs.ext3", *_EXT),
}
"""Name → the command that makes it, and leaves nothing to be written later in the background."""
AS_IS = "as-is"
"""Name that stands for the file system that a folder already lies on."""
_TRIAL = 512 * MIB
"""Bytes of the trial's disk: XFS takes no smaller one."""


def check_file_system(lab: Lab, folder: Path, name: str) -> None:
    """Make a small file system in `folder`, which exists for this alone, and mount it.

    Raises `InvalidInput` if this machine cannot. A lab that only reads makes none.
    """
    # Reading runs imports the names above: what mounts is imported here.
    from redolab.disks.loop import make_file_system, mounted
    from redolab.machine import processes
    from redolab.machine.tools import PACKAGES

    if not processes.is_root():
        raise InvalidInput(
            f"{name} is made on a disk of the lab's and mounted, and only root may mount",
            f"run as root, or FILESYSTEM={AS_IS} STORAGE=local",
        )
    if lab.reads_only:
        return
    program, *_ = MADE_BY[name]
    if program in PACKAGES:
        lab.tools.require([program], lab.progress)
    with lab.journal.making(folder, f"a trial of {name}", mounted=True):
        try:
            make_file_system(folder / "disk", _TRIAL, MADE_BY[name])
            with mounted(folder / "disk", folder / "mounted"):
                pass
        except LabError as error:
            raise InvalidInput(
                f"this machine cannot make and mount {name}: {error.problem}", "choose another FILESYSTEM"
            ) from error
