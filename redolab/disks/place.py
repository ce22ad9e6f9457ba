"""A storage profile that is attached: where a data directory can lie for one recovery."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redolab.disks.profiles import HOME
from redolab.errors import DiskFull, LabError
from redolab.machine import files
from redolab.machine.device import BlockDevice
from redolab.units import MIB

FULL = 16 * MIB
"""Bytes free below which a disk counts as full."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A folder on an attached storage."""

    name: str
    """The storage profile's."""
    folder: Path
    device: BlockDevice | None = None
    """Block device under the folder; None if there is none."""
    staged: Path | None = None
    """Path of the copy of the image's data directory; None if the storage has no copy."""
    buffered: bool = False
    """True if the device reads its file through the page cache, which makes it faster than intended."""
    direct: bool = True
    """True if files on the storage can be read past the page cache."""

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Limit the storage to its intended speed for the block. Outside, the lab does work that is not measured."""
        yield

    @contextmanager
    def unlimited(self) -> Iterator[None]:
        """Lift the limit for a block within `limited`, for work that is not measured."""
        yield

    def late_share(self) -> float | None:
        """Return the total delay since the storage was last limited, as a share of all latencies; None if unknown."""
        return None

    def check(self) -> None:
        """Raise `LabError` if the storage is at fault."""
        if files.free_space(self.folder) < FULL:
            raise DiskFull(
                f"the storage {self.name} under {self.folder} is full", "choose a smaller LOGSIZE or DATASET"
            )

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Blame the storage for a `LabError` within the block if it is at fault."""
        try:
            yield
        except LabError:
            self.check()
            raise


def own_place(home: Path) -> Place:
    """Return the folder of the lab's own storage as a place."""
    return Place(name=HOME, folder=home, device=BlockDevice.under(home))
