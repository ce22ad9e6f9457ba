"""The kinds of crash, a file each: how the server is struck, and how what that leaves is brought home.

A kind is an object that is made anew for each crash; `CRASH=` takes its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from redolab.clock import Instant
from redolab.crashes.kinds.disk_power import DiskPower
from redolab.crashes.kinds.freeze import Freeze
from redolab.crashes.kinds.kill import Kill
from redolab.errors import InvalidInput
from redolab.servers.instance import Instance
from redolab.storage.place import Place


class CrashKind(Protocol):
    """One crash of one server."""

    about: str
    """What it does, in a line."""
    goes_on: bool
    """Whether the load goes on afterwards, so that one load can be struck many times."""
    cuts_power: bool
    """Whether the server must be under load on a disk whose power can be cut."""

    def strike(self, instance: Instance, place: Place) -> Instant:
        """Crash the server on its storage; the moment. Raises `LabError`."""

    def collect(self, place: Place, home: Path) -> float | None:
        """Have what the crash left in the instance's folder `home`, on the lab's own storage. Raises `LabError`.

        It may be where the instance ran. What is returned: seconds that the file system took to replay its journal, if it did.
        """

    def go_on(self) -> None:
        """All that the crash left has been collected, or could not be: the load goes on, of a kind after which it does."""


KINDS: Mapping[str, type[CrashKind]] = {"kill": Kill, "freeze": Freeze, "disk-power": DiskPower}
"""Name → the kind."""


def crash_kind(name: str) -> CrashKind:
    """A crash of that kind. Raises `InvalidInput`, which lists the names there are."""
    if name not in KINDS:
        raise InvalidInput(f"there is no kind of crash '{name}'", f"choose from {', '.join(KINDS)}")
    return KINDS[name]()
