"""What the catalogue of servers, `provision/servers.toml`, says of each."""

from __future__ import annotations

import msgspec

from redolab.servers.dialects import Dialect, Version, dialect_of
from redolab.servers.sources import Source


class CatalogueEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One server and how to get it; paths are relative to its root folder."""

    family: str
    version: str
    """The one expected, which decides the dialect before the server is there; what is there is asked of the binary."""
    program: str
    share: str
    source: Source

    def dialect(self) -> Dialect:
        """What such a server speaks, as far as the version expected tells."""
        return dialect_of(self.family, Version.parse(self.version))
