"""The contract of a kind of crash."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from redolab.clock import Instant
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
