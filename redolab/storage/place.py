"""A storage profile that is attached: where a data directory can lie for one recovery."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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
    """The block device under it, if it has one."""
    staged: Path | None = None
    """Where a copy of the image's data directory lies on it, if it is one that has it."""
    buffered: bool = False
    """Whether the device under it reads its file through the page cache, so that it is quicker than it is to be."""
    direct: bool = True
    """Whether its files can be read past the page cache."""

    @contextmanager
    def limited(self) -> Iterator[None]:
        """While in it: the storage is as slow as it is to be. Outside, the lab may do what is not measured."""
        yield

    @contextmanager
    def unlimited(self) -> Iterator[None]:
        """While in it, within `limited`: the lab does what is not measured."""
        yield

    def late_share(self) -> float | None:
        """How late the storage answered since it was last limited, as a share of all its latencies; None where that is not known."""
        return None

    def check(self) -> None:
        """Raises `LabError` if it is the storage that is at fault."""
        if files.free_space(self.folder) < FULL:
            raise DiskFull(
                f"the storage {self.name} under {self.folder} is full", "choose a smaller LOGSIZE or DATASET"
            )

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """While in it: what fails because of the storage says so."""
        try:
            yield
        except LabError:
            self.check()
            raise
