"""Making a catalogue entry into a server that can be started: a root folder of the project's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from redolab.errors import LabError
from redolab.hosts import Host
from redolab.ledger import Ledger
from redolab.progress import Progress
from redolab.servers.catalogue import CatalogueEntry
from redolab.servers.dialects import Dialect, Version, dialect_of
from redolab.servers.sandbox import Sandbox
from redolab.tools import Tool

_MARK = "server.json"
_VERSION = re.compile(r"Ver\s+(\S+)")


class _Mark(msgspec.Struct, frozen=True):
    """Written last, so that a half-made server has none: what it was made from, and its version as it says itself."""

    entry: CatalogueEntry
    version: str


@dataclass(frozen=True, slots=True)
class InstalledServer:
    """A server that can be started."""

    name: str
    entry: CatalogueEntry
    version: str
    """As its binary says it, packaging suffixes included."""
    sandbox: Sandbox
    dialect: Dialect


class Servers:
    """The servers unpacked under a folder of the host."""

    def __init__(self, host: Host, folder: Path, ledger: Ledger) -> None:
        self._host = host
        self._folder = folder
        self._ledger = ledger

    def installed(self, name: str, entry: CatalogueEntry, bubblewrap: Tool) -> InstalledServer | None:
        """The server if it is there whole and was made from this very entry."""
        try:
            mark = msgspec.json.decode(self._host.files.read(self._folder / name / _MARK), type=_Mark)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        if mark.entry != entry:
            return None
        dialect = dialect_of(entry.family, Version.parse(mark.version))
        return InstalledServer(name, entry, mark.version, Sandbox(self._folder / name / "root", bubblewrap), dialect)

    def install(self, name: str, entry: CatalogueEntry, bubblewrap: Tool, progress: Progress) -> InstalledServer:
        """The server, fetched and unpacked if it is not there yet. Raises `LabError`."""
        if there := self.installed(name, entry, bubblewrap):
            return there
        files = self._host.files
        making = self._folder / f"{name}.partial"
        with self._ledger.making(making, f"the server {name}"), progress.stage(f"getting {name}") as stage:
            root = making / "root"
            entry.source.fetch(self._host, root, making / "work")
            sandbox = Sandbox(root, bubblewrap)
            sandbox.prepare(self._host)
            version = self._ask_version(sandbox, name, entry)
            files.remove(making / "work")
            files.write(making / _MARK, msgspec.json.encode(_Mark(entry, version)))
            files.remove(self._folder / name)
            files.rename(making, self._folder / name)
            stage.outcome = version
        installed = self.installed(name, entry, bubblewrap)
        assert installed is not None
        return installed

    def _ask_version(self, sandbox: Sandbox, name: str, entry: CatalogueEntry) -> str:
        said = self._host.run(sandbox.command(entry.program, ["--no-defaults", "--version"])).out
        match = _VERSION.search(said)
        if match is None:
            raise LabError(f"{name} does not say its version", "see what it said below", said.splitlines())
        return match[1]
