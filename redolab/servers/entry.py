"""Entries of the catalogue of servers, `provision/servers.toml`."""

from __future__ import annotations

import msgspec

from redolab.servers.dialects import Dialect, Version, dialect_of
from redolab.servers.sources import Source


class CatalogueEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A server and the source to get it from; paths are relative to its root folder."""

    family: str
    version: str
    """Expected version. It decides the dialect before installation; afterwards the binary's own answer counts."""
    program: str
    share: str
    source: Source

    def dialect(self) -> Dialect:
        """Return the dialect of the expected version."""
        return dialect_of(self.family, Version.parse(self.version))
