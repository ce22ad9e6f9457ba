"""A folder on the host's own disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from redolab.errors import InvalidInput
from redolab.hosts import Host

_OURS = "redolab"
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

    def check(self, host: Host) -> None:
        """Raises `InvalidInput` if it is a folder of the user's that is not there."""
        if Path(self.path).is_absolute() and not host.files.exists(Path(self.path)):
            raise InvalidInput(f"there is no folder {self.path}", "make it, or mount what is to be there")

    @contextmanager
    def attach(self, host: Host, lab_folder: Path) -> Iterator[Path]:
        """While in it: the folder. The lab's own stays afterwards; in one of the user's, only a folder of the lab's is used, and goes."""
        if not Path(self.path).is_absolute():
            folder = lab_folder / self.path
            host.files.make_folder(folder)
            yield folder
            return
        folder = Path(self.path) / _OURS
        host.files.make_folder(folder)
        try:
            yield folder
        finally:
            for below in ("instances", ""):
                if not host.files.names(folder / below):
                    host.files.remove(folder / below)
