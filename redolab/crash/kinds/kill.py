"""`kill`: SIGKILL of the server. What it had written is in the files, whether or not it had reached the disk."""

from __future__ import annotations

from pathlib import Path

from typing_extensions import override

from redolab.clock import Instant
from redolab.crash.kinds.contract import CrashKind
from redolab.crash.kinds.crashed_files import copy_crashed_files
from redolab.disks.place import Place
from redolab.servers.instance import Instance


class Kill(CrashKind):
    """SIGKILL."""

    about = "SIGKILL of the server, which ends its load"
    goes_on = False
    cuts_power = False

    def __init__(self) -> None:
        self._folder: Path | None = None

    @override
    def strike(self, instance: Instance, place: Place) -> Instant:
        self._folder = instance.folder
        return instance.kill()

    @override
    def collect(self, place: Place, home: Path) -> None:
        assert self._folder is not None
        if self._folder != home:
            copy_crashed_files(self._folder, home)

    @override
    def go_on(self) -> None:
        """Leave the load ended: the crash stopped it for good."""
