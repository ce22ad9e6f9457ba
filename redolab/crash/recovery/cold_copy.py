"""A copy of a crash image on which a server starts as after a reboot: with a cold page cache, on a quiet disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redolab.crash.image_store import ImageStore, check_format
from redolab.crash.records.crash import CrashImage
from redolab.disks.place import Place
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.machine.facts import Copy
from redolab.machine.page_cache import drop_page_cache
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, prepare_folder

_SETTLED = 5.0
"""Seconds for which the disk may stay busy at most."""


@dataclass(frozen=True, slots=True)
class ColdCopy:
    """The folder of an instance that has crashed, ready to start."""

    folder: Path
    copy: Copy
    cache_dropped: bool


@contextmanager
def cold_copy(
    lab: Lab, server: InstalledServer, image: CrashImage, images: ImageStore, place: Place
) -> Iterator[ColdCopy]:
    """Provide a copy of a crash image on an attached storage during the block.

    Raises `InvalidInput` if this server cannot read the image, `LabError` where the lab or the storage fails.
    """
    check_format(image, server.name, server.dialect)
    what = f"the copy of {image.name} that was being recovered"
    with instance_folder(lab, place, f"{image.name}-recovery", what) as folder:
        prepare_folder(server, folder)
        files.remove(folder / DATA)
        copy, cache_dropped = copied_cold(lab, place, image.name, images.data(image), folder / DATA)
        yield ColdCopy(folder, copy, cache_dropped)


@contextmanager
def instance_folder(lab: Lab, place: Place, name: str, what: str) -> Iterator[Path]:
    """Provide the path of an instance's folder on an attached storage, and remove the folder after the block.

    `what`: the folder in words. Blame the storage for a `LabError` within the block if it is at fault.
    """
    folder = place.folder / "instances" / name
    with (
        # Outside: a folder on a lost disk cannot be removed either.
        place.blamed(),
        lab.journal.making(folder, what),
        # Inside: once the folder is removed, a full disk is full no longer.
        place.blamed(),
    ):
        yield folder


def copied_cold(lab: Lab, place: Place, what: str, source: Path, to: Path) -> tuple[Copy, bool]:
    """Copy a folder to an attached storage, drop the page cache, and wait until the disk is quiet.

    `source` is copied unless the storage has its contents staged. Return the copy, and True if the cache was dropped.
    """
    with lab.progress.stage(f"copying {what}", "copy"):
        copy = copies.copy_folder(place.staged or source, to)
    cache_dropped = drop_page_cache()
    if place.device is not None:
        place.device.wait_quiet(_SETTLED)
    return copy, cache_dropped
