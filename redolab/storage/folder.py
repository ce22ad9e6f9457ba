"""A folder on this machine's own disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from redolab.errors import InvalidInput
from redolab.machine import files
from redolab.machine.clean_up_journal import Journal

_OURS = ".redolab-storage"
"""What the lab's folder in one of the user's is called."""


class FolderStorage(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="folder"
):
    """A folder, as fast as the disk it lies on; what is not absolute lies in the lab's own folder."""

    path: str
    about: str

    @property
    def what(self) -> str:
        """What stands behind it, in a word."""
        return "folder"

    def check(self) -> None:
        """Raises `InvalidInput` if it is a folder of the user's that is not there."""
        if Path(self.path).is_absolute() and not Path(self.path).exists():
            raise InvalidInput(f"there is no folder {self.path}", "make it, or mount what is to be there")

    @contextmanager
    def attach(self, lab_folder: Path, journal: Journal) -> Iterator[Path]:
        """While in it: the folder. The lab's own stays afterwards; in one of the user's, only a folder of the lab's is used, and goes."""
        if not Path(self.path).is_absolute():
            folder = lab_folder / self.path
            files.make_folder(folder)
            yield folder
            return
        folder = Path(self.path) / _OURS
        with journal.using(folder, f"the folder {folder}"):
            files.make_folder(folder)
            yield folder
