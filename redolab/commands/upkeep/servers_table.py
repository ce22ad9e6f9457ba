"""The servers of the catalogue as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redolab.report.table import Column, ReportTable
from redolab.servers.dialects import other_than_expected
from redolab.servers.install import CatalogueEntry, InstalledServer
from redolab.units import format_size


@dataclass(frozen=True, slots=True)
class ListedServer:
    """A server of the catalogue with its state on this machine."""

    name: str
    entry: CatalogueEntry
    own: bool
    """True if the user added it."""
    installed: InstalledServer | None
    """Version that a new run uses; None if it is not unpacked."""
    versions: Sequence[InstalledServer]
    """All unpacked versions."""
    size: int
    """Bytes on disk, of all versions."""

    @property
    def version(self) -> str:
        """Version that its binary reports, or the expected one if it is not unpacked."""
        return self.installed.version if self.installed else self.entry.version

    @property
    def state(self) -> str:
        """State in words."""
        taken = self.installed and self.installed.folder
        others = [str(each.dialect.version) for each in self.versions if each.folder != taken]
        beside = f"; {', '.join(others)} beside it" if others else ""
        if self.installed is None:
            return f"fetched when first asked for{beside}"
        expected = self.entry.version
        return f"ready{f', {expected} is expected' * other_than_expected(self.installed.version, expected)}{beside}"


_COLUMNS = [
    Column[ListedServer]("server", lambda server: server.name),
    Column[ListedServer]("family", lambda server: server.entry.family),
    Column[ListedServer]("version", lambda server: server.version),
    Column[ListedServer]("redo format", lambda server: server.entry.dialect().redo_format),
    Column[ListedServer]("from", lambda server: ("yours: " if server.own else "") + server.entry.source.about),
    Column[ListedServer]("state", lambda server: server.state),
    Column[ListedServer]("on disk", lambda server: format_size(server.size) if server.size else "–", right=True),
]


def servers_table(servers: Sequence[ListedServer]) -> ReportTable:
    """Return all servers as a table, in the catalogue's order."""
    return ReportTable.of("Servers", servers, _COLUMNS, [])
