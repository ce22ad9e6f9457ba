"""Memory as a disk."""

from __future__ import annotations

import msgspec


class TmpfsStorage(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="tmpfs"
):
    """A file system in memory, made for each recovery."""

    about: str

    @property
    def what(self) -> str:
        """What stands behind it, in a word."""
        return "memory"
