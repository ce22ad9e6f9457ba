"""Making a catalogue entry into a server that can be started: a root folder of the project's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from redolab.errors import LabError
from redolab.machine import files, processes
from redolab.machine.clean_up_journal import Journal
from redolab.machine.tools import Tools
from redolab.progress import Progress
from redolab.servers.dialects import Dialect, Version, dialect_of, family_of
from redolab.servers.entry import CatalogueEntry
from redolab.servers.sandbox import Sandbox
from redolab.servers.sources import Source
from redolab.servers.sources.folder import FolderSource

_MARK = "server.json"
_VERSION = re.compile(r"Ver\s+(\S+)")
_EVERYTHING = Path("/")


class _Mark(msgspec.Struct, frozen=True):
    """Written last, so that a half-made server has none: what it was made from, and what its binary says of itself."""

    source: Source
    program: str
    share: str
    said: str


@dataclass(frozen=True, slots=True)
class InstalledServer:
    """A server that can be started."""

    name: str
    version: str
    """As its binary says it, packaging suffixes included."""
    dialect: Dialect
    """Of the family and version that the binary says."""
    sandbox: Sandbox
    program: Path
    share: Path
    """Both as the sandbox sees them."""
    share_on_host: Path
    system: Path
    """Under which its system lies on this machine: what the sandbox has at /."""


class Servers:
    """The servers unpacked under a folder."""

    def __init__(self, folder: Path, journal: Journal, tools: Tools) -> None:
        self._folder = folder
        self._journal = journal
        self._tools = tools

    def installed(self, name: str, entry: CatalogueEntry) -> InstalledServer | None:
        """The server if it is there whole and was made from this very entry."""
        try:
            mark = msgspec.json.decode((self._folder / name / _MARK).read_bytes(), type=_Mark)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        if (mark.source, mark.program, mark.share) != (entry.source, entry.program, entry.share):
            return None
        version = _version(name, mark.said)
        return InstalledServer(
            name=name,
            version=version,
            dialect=dialect_of(family_of(mark.said), Version.parse(version)),
            sandbox=self._sandbox(self._folder / name, entry),
            program=_EVERYTHING / entry.program,
            share=_EVERYTHING / entry.share,
            share_on_host=_system(self._folder / name, entry) / entry.share,
            system=_system(self._folder / name, entry),
        )

    def install(self, name: str, entry: CatalogueEntry, progress: Progress) -> InstalledServer:
        """The server, fetched and unpacked if it is not there yet. Raises `LabError`."""
        if there := self.installed(name, entry):
            # What an earlier version of the lab unpacked may lack a file that servers look at now.
            there.sandbox.prepare()
            return there
        self._sandbox(self._folder / name, entry).check()
        self._tools.require(entry.source.tools, progress)
        making = self._folder / f"{name}.partial"
        with self._journal.making(making, f"the half-made server {name}"), progress.stage(f"getting {name}") as stage:
            entry.source.fetch(self._tools, making / "root", making / "work")
            sandbox = self._sandbox(making, entry)
            sandbox.prepare()
            asked = sandbox.command(_EVERYTHING / entry.program, ["--no-defaults", "--version"])
            said = processes.run(asked).out
            stage.outcome = _version(name, said)
            files.remove(making / "work")
            mark = _Mark(entry.source, entry.program, entry.share, said)
            files.write_whole(making / _MARK, msgspec.json.encode(mark))
            files.remove_marked(self._folder / name, _MARK)
            files.move(making, self._folder / name)
        installed = self.installed(name, entry)
        assert installed is not None
        return installed

    def size(self, name: str) -> int:
        """Bytes that a server takes on the disk."""
        folder = self._folder / name
        return files.folder_size(folder) if folder.exists() else 0

    def remove(self, name: str) -> None:
        """Remove what was unpacked of a server."""
        files.remove_marked(self._folder / name, _MARK)

    def _sandbox(self, folder: Path, entry: CatalogueEntry) -> Sandbox:
        beside = [Path(entry.source.path)] if isinstance(entry.source, FolderSource) else []
        return Sandbox(self._tools.get("bwrap"), _system(folder, entry), folder / "etc", beside)


def _system(folder: Path, entry: CatalogueEntry) -> Path:
    """Under what the server's system lies: the machine's own for a server that stays where it is."""
    return _EVERYTHING if isinstance(entry.source, FolderSource) else folder / "root"


def _version(name: str, said: str) -> str:
    match = _VERSION.search(said)
    if match is None:
        raise LabError(f"{name} does not say its version", "see what it said below", said.splitlines())
    return match[1]
