"""A server that is on the machine already: a build tree, or one that is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import msgspec

from redolab.errors import LabError
from redolab.machine.tools import Tools


class FolderSource(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="folder"
):
    """A folder that stays where it is and is never written to; the libraries are the machine's own."""

    tools: ClassVar[Sequence[str]] = ()
    path: str

    @property
    def about(self) -> str:
        """Return a description of the source."""
        return self.path

    def check_here(self) -> None:
        """Raise `LabError` if the folder is gone."""
        if not Path(self.path).exists():
            raise LabError(f"{self.path} is not there any more", "add the server again from where it is now")

    def fetch(self, tools: Tools, root: Path, work: Path) -> None:
        """Check that the folder exists; a folder needs no fetching."""
        self.check_here()
