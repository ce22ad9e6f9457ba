"""Servers of the catalogue: listed, added, fetched, removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redolab.errors import InvalidInput
from redolab.lab import open_lab, servers_of
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.report.numbers import NONE
from redolab.report.table import Column, ReportTable
from redolab.runs.store import RunStore
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import other_than_expected
from redolab.servers.install import CatalogueEntry, InstalledServer
from redolab.servers.own import (
    check_name,
    entry_of_folder,
    entry_of_tarball,
    forget_own_server,
    keep_own_server,
    own_servers,
)
from redolab.servers.sources.archive import ArchiveSource
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
    Column[ListedServer]("on disk", lambda server: format_size(server.size) if server.size else NONE, right=True),
]


def listed_servers() -> list[ListedServer]:
    """Return every server of the catalogue with its state on this machine."""
    servers = servers_of(PROJECT.lab)
    own = own_servers()
    return [
        ListedServer(
            name, entry, name in own, servers.installed(name, entry), servers.versions(name), servers.size(name)
        )
        for name, entry in server_catalogue().items()
    ]


def servers_table() -> ReportTable:
    """Return all servers as a table, in the catalogue's order."""
    return ReportTable.of("Servers", listed_servers(), _COLUMNS, [])


def add_server(progress: Progress, name: str, tarball: Path | None, sha256: str | None, path: Path | None) -> str:
    """Add a server of the user's own from a tarball or a folder. Return a sentence on it. Raises `LabError`."""
    if (tarball is None) == (path is None):
        raise InvalidInput("a server is added from one place", "give either --tarball FILE or --path DIR")
    known = dict(server_catalogue().items()).get(name)
    # A tarball of a known server adds a version to it.
    check_name(name, [name] if known is not None and tarball is None else [])
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        lab.tools.require(["bwrap"], progress)
        if tarball is not None:
            with progress.stage(f"looking into {tarball.name}"):
                entry = entry_of_tarball(tarball, sha256)
        else:
            assert path is not None
            entry = entry_of_folder(path)
        if known is not None:
            server = lab.servers.supply(name, entry, known.family, progress)
        else:
            server = lab.servers.install(name, entry, progress)
            keep_own_server(name, entry, server)
    checksum = f", SHA-256 {entry.source.sha256}" if isinstance(entry.source, ArchiveSource) else ""
    what = f"added {name}: {server.dialect.family} {server.version} from {entry.source.about}{checksum}"
    return what if known is None else f"{what}; for runs that were planned with that version"


def fetch_server(progress: Progress, name: str) -> str:
    """Fetch a server in its source's present version, beside other versions. Return a sentence on it.

    Raises `LabError`.
    """
    entry = server_catalogue().get(name)
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        lab.tools.require(["bwrap"], progress)
        server = lab.servers.fetch(name, entry, progress)
        others = [str(each.dialect.version) for each in lab.servers.versions(name) if each.folder != server.folder]
    beside = f", beside {', '.join(others)}" if others else ""
    expected = f"; expected is {entry.version}" if other_than_expected(server.version, entry.version) else ""
    return f"fetched {name} {server.version}{beside}{expected}"


def remove_server(progress: Progress, name: str) -> str:
    """Forget a server of the user's own. Return a sentence on it. Raises `InvalidInput`."""
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        forget_own_server(name)
        lab.servers.remove(name)
    return f"removed the server {name}"
