"""`freeze`: the server is stopped between two instructions, its files are copied, and later it goes on.

The copy holds the state that a SIGKILL would have left at that time: the kernel has taken every write that the server
had requested, and no other (docs/recovery.md has the comparison). One load therefore gives many crashes.
"""

from __future__ import annotations

from pathlib import Path

from typing_extensions import override

from redolab.clock import Instant
from redolab.crash.kinds.contract import CrashKind, copy_crashed_files
from redolab.disks.place import Place
from redolab.errors import LabError
from redolab.servers.instance import Instance

_IDLE = 30.0
"""Seconds for requests in flight to be answered: far more than any disk takes."""


class Freeze(CrashKind):
    """SIGSTOP, a copy, SIGCONT."""

    goes_on = True
    cuts_power = False

    @override
    def strike(self, instance: Instance, place: Place) -> Instant:
        """Stop the server with SIGSTOP. It goes on when the next crash is asked for."""
        moment = instance.freeze()
        try:
            # The kernel carries out requests that it already has, although the server is stopped.
            if place.device is not None and not place.device.wait_quiet(_IDLE):
                raise LabError(
                    f"the disk under {place.name} was still busy {_IDLE:.0f} s after the server had been stopped",
                    "does something else write to it? CRASH=kill does without",
                )
        except BaseException:
            instance.thaw()
            raise
        return moment

    @override
    def collect(self, instance: Instance, place: Place, home: Path) -> None:
        with place.unlimited():
            copy_crashed_files(instance.folder, home)
