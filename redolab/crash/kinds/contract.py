"""The contract of a kind of crash."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from redolab.clock import Instant
from redolab.disks.place import Place
from redolab.machine import copies, files
from redolab.servers.instance import DATA, Instance


class CrashKind(Protocol):
    """A kind of crash of a server."""

    goes_on: bool
    """True if the server is only stopped, and its load goes on afterwards: one load can be crashed many times."""
    cuts_power: bool
    """True if the server must be under load on a disk whose power can be cut."""

    def strike(self, instance: Instance, place: Place) -> Instant:
        """Crash the server on its storage. Return the time of the crash. Raises `LabError`."""

    def collect(self, instance: Instance, place: Place, home: Path) -> None:
        """Copy the crash state into the instance folder `home`, on the lab's own storage, if it is elsewhere.

        Raises `LabError`.
        """


def copy_crashed_files(folder: Path, home: Path) -> None:
    """Copy the data directory of an instance to the prepared folder `home`."""
    files.remove(home / DATA)
    copies.copy_folder(folder / DATA, home / DATA)
