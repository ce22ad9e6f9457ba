"""`kill`: SIGKILL of the server. What it had written is in the files, whether or not it had reached the disk."""

from __future__ import annotations

from pathlib import Path

from typing_extensions import override

from redolab.clock import Instant
from redolab.crash.kinds.contract import CrashKind, copy_crashed_files
from redolab.disks.place import Place
from redolab.servers.instance import Instance


class Kill(CrashKind):
    """SIGKILL."""

    goes_on = False
    cuts_power = False

    @override
    def strike(self, instance: Instance, place: Place) -> Instant:
        return instance.kill()

    @override
    def collect(self, instance: Instance, place: Place, home: Path) -> None:
        if instance.folder != home:
            copy_crashed_files(instance.folder, home)
