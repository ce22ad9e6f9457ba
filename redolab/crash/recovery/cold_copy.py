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
    folder = place.folder / "instances" / f"{image.name}-recovery"
    with (
        # Without: the copy cannot be taken away either when its disk is gone.
        place.blamed(),
        lab.journal.making(folder, f"the copy of {image.name} that was being recovered"),
        # And within: once the copy is gone, a disk that was full is no longer.
        place.blamed(),
    ):
        prepare_folder(server, folder)
        with lab.progress.stage(f"copying {image.name}", "copy"):
            files.remove(folder / DATA)
            copy = copies.copy_folder(place.staged or images.data(image), folder / DATA)
        cache_dropped = drop_page_cache()
        if place.device is not None:
            place.device.wait_quiet(_SETTLED)
        yield ColdCopy(folder, copy, cache_dropped)
