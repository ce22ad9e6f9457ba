"""What a crash left in a server's files, brought to the lab's own storage."""

from __future__ import annotations

import shutil
from pathlib import Path

from redolab.machine import copies, files
from redolab.records.crash import STORY
from redolab.servers.instance import DATA


def copy_crashed_files(folder: Path, home: Path) -> None:
    """Copy the data directory of an instance, and the files that tell how it came about, to the prepared folder `home`."""
    files.remove(home / DATA)
    copies.copy_folder(folder / DATA, home / DATA)
    for name in STORY:
        if (folder / name).exists():
            shutil.copy(folder / name, home / name)
