"""`disk-power`: the power of the server's disk is cut. Unflushed writes and the kernel's cache are gone.

The crash state is the least that a disk may keep: every write that no flush protects is lost. `make experiment
durability` examines all other states.
"""

from __future__ import annotations

from pathlib import Path

from typing_extensions import override

from redolab.clock import Instant
from redolab.crash.kinds.contract import CrashKind, copy_crashed_files
from redolab.disks.lab_disk import ModelledPlace
from redolab.disks.loop import mounted
from redolab.disks.place import Place
from redolab.errors import LabError
from redolab.machine import mounts
from redolab.servers.instance import Instance

_AFTER = "after-cut"


class DiskPower(CrashKind):
    """A cut of the disk model's power, and SIGKILL before the server has seen it."""

    goes_on = False
    cuts_power = True

    @override
    def strike(self, instance: Instance, place: Place) -> Instant:
        """Stop the server first, so that it meets no error of its disk, then cut the power."""
        assert isinstance(place, ModelledPlace)
        moment = instance.freeze()
        place.model.tell("cut")
        instance.kill()
        return moment

    @override
    def collect(self, instance: Instance, place: Place, home: Path) -> None:
        """Mount the disk without the model; its file system replays its journal. Copy the server's files."""
        assert isinstance(place, ModelledPlace)
        mounts.unmount(place.folder)
        after = place.folder.with_name(_AFTER)
        with mounted(place.disk_file, after):
            folder = after / instance.folder.relative_to(place.folder)
            if not folder.is_dir():
                raise LabError(
                    "the power cut took the server's folder with it", "strike later: nothing of it had been flushed yet"
                )
            copy_crashed_files(folder, home)
