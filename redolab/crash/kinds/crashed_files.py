"""Copy of a crashed server's files to the lab's own storage."""

from __future__ import annotations

from pathlib import Path

from redolab.machine import copies, files
from redolab.servers.instance import DATA


def copy_crashed_files(folder: Path, home: Path) -> None:
    """Copy the data directory of an instance to the prepared folder `home`."""
    files.remove(home / DATA)
    copies.copy_folder(folder / DATA, home / DATA)
