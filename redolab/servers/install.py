"""Making a catalogue entry into a server that can be started: a root folder of the project's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from redolab.errors import InvalidInput, LabError
from redolab.machine import files, processes
from redolab.machine.clean_up_journal import Journal
from redolab.machine.tools import Tools
from redolab.progress import Progress
from redolab.servers.dialects import Dialect, Version, dialect_of, family_of
from redolab.servers.sandbox import Sandbox
from redolab.servers.sources import Source
from redolab.servers.sources.folder import FolderSource

_MARK = "server.json"
_VERSION = re.compile(r"Ver\s+(\S+)")
_EVERYTHING = Path("/")


class CatalogueEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Entry of `provision/servers.toml`: a server and its source; paths are relative to the server's root folder."""

    family: str
    version: str
    """Expected version. It decides the dialect before installation; afterwards the binary's own answer counts."""
    program: str
    share: str
    source: Source

    def dialect(self) -> Dialect:
        """Return the dialect of the expected version."""
        return dialect_of(self.family, Version.parse(self.version))


class _Mark(msgspec.Struct, frozen=True):
    """Mark of a complete server: its source, and its binary's own version text. It is written last."""

    source: Source
    program: str
    share: str
    said: str
    name: str
    """Name of the server. The folder's name has the version too."""

    def is_of(self, entry: CatalogueEntry) -> bool:
        """Return True if the server was installed from exactly this entry."""
        return (self.source, self.program, self.share) == (entry.source, entry.program, entry.share)


@dataclass(frozen=True, slots=True)
class InstalledServer:
    """A server that can be started."""

    name: str
    version: str
    """Version as the binary reports it, packaging suffixes included."""
    dialect: Dialect
    """Dialect of the family and version that the binary reports."""
    sandbox: Sandbox
    program: Path
    share: Path
    """Share folder, like `program` a path inside the sandbox."""
    share_on_host: Path
    system: Path
    """Folder of this machine that the sandbox shows as /."""
    folder: Path
    """Folder of this machine with all that the lab keeps of the server."""


class Servers:
    """Servers unpacked under a folder, each version in a folder of its own, `NAME-VERSION`."""

    def __init__(self, folder: Path, journal: Journal, tools: Tools) -> None:
        self._folder = folder
        self._journal = journal
        self._tools = tools

    def installed(self, name: str, entry: CatalogueEntry) -> InstalledServer | None:
        """Return the server that was made from exactly this entry; None if there is none.

        Of several versions, the expected one comes first, then the latest.
        """
        expected = Version.parse(entry.version)
        of_entry = [self._server(folder, mark) for folder, mark in self._marked(name) if mark.is_of(entry)]
        return max(of_entry, key=lambda each: (each.dialect.version == expected, each.dialect.version), default=None)

    def versions(self, name: str) -> list[InstalledServer]:
        """Return every installed version of a server, the latest first, whatever its source."""
        servers = [self._server(folder, mark) for folder, mark in self._marked(name)]
        return sorted(servers, key=lambda each: each.dialect.version, reverse=True)

    def of_version(self, name: str, version: Version) -> InstalledServer | None:
        """Return the server of exactly that version; None if it is not installed."""
        return next((each for each in self.versions(name) if each.dialect.version == version), None)

    def install(self, name: str, entry: CatalogueEntry, progress: Progress) -> InstalledServer:
        """Return the server; fetch and unpack it if no version of it is installed. Raises `LabError`."""
        return self.installed(name, entry) or self.fetch(name, entry, progress)

    def fetch(self, name: str, entry: CatalogueEntry, progress: Progress) -> InstalledServer:
        """Fetch the server's present version from its source, beside other installed versions. Raises `LabError`."""
        return self._made(name, entry, progress, lambda made: None)

    def supply(self, name: str, entry: CatalogueEntry, family: str, progress: Progress) -> InstalledServer:
        """Install a version of a server from a source other than its own entry.

        Raises `InvalidInput` for a version of another family and for one that is installed, and `LabError`.
        """

        def check(made: InstalledServer) -> None:
            if made.dialect.family != family:
                raise InvalidInput(
                    f"{entry.source.about} is of the family {made.dialect.family}, and {name} is not",
                    "give another NAME",
                )
            if self.of_version(name, made.dialect.version) is not None:
                raise InvalidInput(f"{name} is there as {made.dialect.version} already", "give another version of it")

        return self._made(name, entry, progress, check)

    def size(self, name: str) -> int:
        """Return the bytes that all versions of a server take on the disk."""
        return sum(files.folder_size(folder) for folder, _ in self._marked(name))

    def remove(self, name: str) -> None:
        """Remove all versions of a server."""
        for folder, _ in self._marked(name):
            files.remove_marked(folder, _MARK)

    def _made(
        self, name: str, entry: CatalogueEntry, progress: Progress, check: Callable[[InstalledServer], None]
    ) -> InstalledServer:
        self._sandbox(self._folder / name, entry.source).check()
        self._tools.require(entry.source.tools, progress)
        making = self._folder / f"{name}.partial"
        with self._journal.making(making, f"the half-made server {name}"), progress.stage(f"getting {name}") as stage:
            entry.source.fetch(self._tools, making / "root", making / "work")
            sandbox = self._sandbox(making, entry.source)
            sandbox.prepare()
            asked = sandbox.command(_EVERYTHING / entry.program, ["--no-defaults", "--version"])
            mark = _Mark(entry.source, entry.program, entry.share, processes.run(asked).out, name)
            made = self._server(making, mark)
            stage.outcome = made.version
            check(made)
            folder = self._folder / f"{name}-{made.dialect.version}"
            _check_own_folder(folder, made)
            files.remove(making / "work")
            files.write_whole(making / _MARK, msgspec.json.encode(mark))
            files.remove_marked(folder, _MARK)
            files.move(making, folder)
        return self._server(folder, mark)

    def _marked(self, name: str) -> list[tuple[Path, _Mark]]:
        """Return the complete folders of a server, with the content of their marks."""
        folders = [self._folder / each for each in files.names(self._folder)]
        marks = [(folder, _read_mark(folder)) for folder in folders]
        return [(folder, mark) for folder, mark in marks if mark is not None and mark.name == name]

    def _server(self, folder: Path, mark: _Mark) -> InstalledServer:
        version = _version(mark)
        system = _system(folder, mark.source)
        return InstalledServer(
            name=mark.name,
            version=version,
            dialect=dialect_of(family_of(mark.said), Version.parse(version)),
            sandbox=self._sandbox(folder, mark.source),
            program=_EVERYTHING / mark.program,
            share=_EVERYTHING / mark.share,
            share_on_host=system / mark.share,
            system=system,
            folder=folder,
        )

    def _sandbox(self, folder: Path, source: Source) -> Sandbox:
        extra_folders = [Path(source.path)] if isinstance(source, FolderSource) else []
        return Sandbox(self._tools.get("bwrap"), _system(folder, source), folder / "etc", extra_folders)


def _read_mark(folder: Path) -> _Mark | None:
    """Return the mark of a complete folder; None for any other."""
    try:
        return msgspec.json.decode((folder / _MARK).read_bytes(), type=_Mark)
    except (OSError, msgspec.DecodeError):
        return None


def _check_own_folder(folder: Path, server: InstalledServer) -> None:
    """Raise `LabError` if the folder belongs to another server, whose name ends like this one's version."""
    mark = _read_mark(folder)
    if mark is not None and mark.name != server.name:
        raise LabError(
            f"{server.name} {server.version} would lie in {folder}, where the server '{mark.name}' lies",
            "remove that with 'redolab server rm', and add it by another name",
        )


def _system(folder: Path, source: Source) -> Path:
    """Return the folder of the server's system: / for a server in a user's folder, else the unpacked root folder."""
    return _EVERYTHING if isinstance(source, FolderSource) else folder / "root"


def _version(mark: _Mark) -> str:
    match = _VERSION.search(mark.said)
    if match is None:
        raise LabError(f"{mark.name} does not say its version", "see what it said below", mark.said.splitlines())
    return match[1]
