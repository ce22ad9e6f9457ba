"""A folder on this machine's own disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redolab.disks.profiles import FolderStorage
from redolab.errors import InvalidInput
from redolab.machine import files
from redolab.machine.clean_up_journal import OURS_ELSEWHERE, Journal


def check_folder(profile: FolderStorage) -> None:
    """Raise `InvalidInput` for a user's folder that does not exist, or a path that leads out of the lab's folder."""
    if not Path(profile.path).is_absolute() and ".." in Path(profile.path).parts:
        raise InvalidInput(f"the storage {profile.path} leads out of the lab's folder", "give an absolute path")
    if Path(profile.path).is_absolute() and not Path(profile.path).exists():
        raise InvalidInput(f"there is no folder {profile.path}", "make it, or mount what is to be there")


@contextmanager
def attached_folder(profile: FolderStorage, lab_folder: Path, journal: Journal) -> Iterator[Path]:
    """Yield the folder. In a folder of the user's, only a subfolder is used, and removed afterwards."""
    if not Path(profile.path).is_absolute():
        folder = lab_folder / profile.path
        files.make_folder(folder)
        yield folder
        return
    folder = Path(profile.path) / OURS_ELSEWHERE
    with journal.using(folder, f"the folder {folder}"):
        files.make_folder(folder)
        yield folder
