"""The contract of a kind of crash."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from redolab.clock import Instant
from redolab.disks.place import Place
from redolab.servers.instance import Instance


class CrashKind(Protocol):
    """A crash of a server."""

    about: str
    """Effect of the crash, in one line."""
    goes_on: bool
    """True if the load goes on afterwards, so that one load can be crashed many times."""
    cuts_power: bool
    """True if the server must be under load on a disk whose power can be cut."""

    def strike(self, instance: Instance, place: Place) -> Instant:
        """Crash the server on its storage. Return the time of the crash. Raises `LabError`."""

    def collect(self, place: Place, home: Path) -> float | None:
        """Copy the crash state into the instance's folder `home`, on the lab's own storage, if it is elsewhere.

        Returns the seconds that the file system took to replay its journal; None if it did not. Raises `LabError`.
        """

    def go_on(self) -> None:
        """Let the load go on, if this kind of crash allows it. Called when the crash state was collected or is lost."""
