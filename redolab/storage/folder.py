"""A folder on the host's own disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from redolab.hosts import Host


class FolderStorage(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="folder"
):
    """A folder, as fast as the disk it lies on."""

    path: str
    about: str

    @contextmanager
    def attach(self, host: Host, lab_folder: Path) -> Iterator[Path]:
        """While in it: the folder, which stays afterwards with what is in it."""
        folder = lab_folder / self.path
        host.files.make_folder(folder)
        yield folder
