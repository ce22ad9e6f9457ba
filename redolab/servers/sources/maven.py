"""Servers that projects for testing have packed as Maven artifacts."""

from __future__ import annotations

from pathlib import Path

import msgspec

from redolab.errors import CommandFailed, LabError
from redolab.machine import processes
from redolab.machine.processes import Command
from redolab.machine.tools import Tools
from redolab.servers.sources.archive import LIBRARIES, check_sum, unpack_members


class MavenSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="maven"):
    """An artifact `group:name:version`, fetched by Maven with the machine's own settings."""

    artifact: str
    sha256: str
    members: dict[str, str]
    """Parts of the artifact and their places, as for `unpack_members`."""

    @property
    def about(self) -> str:
        """Return a description of the source."""
        return f"Maven artifact {self.artifact}"

    @property
    def tools(self) -> list[str]:
        """Return the tools that fetching needs."""
        return ["mvn"]

    def check_here(self) -> None:
        """Raise `LabError` if this machine's distribution lacks the libraries."""
        LIBRARIES.check_here()

    def fetch(self, tools: Tools, root: Path, work: Path) -> None:
        """Fetch the libraries and the artifact, check its SHA-256 and unpack its parts."""
        LIBRARIES.fetch(tools, root, work / "libraries")
        maven = tools.get("mvn")
        repository = work / "repository"
        get = [str(maven.program), "--batch-mode", "--quiet", f"-Dmaven.repo.local={repository}"]
        get += ["dependency:get", "-Dtransitive=false", f"-Dartifact={self.artifact}"]
        try:
            processes.run(Command(get, environment=maven.environment), seconds=1800)
        except CommandFailed as error:
            raise LabError(f"Maven could not fetch {self.artifact}", "try mvn by hand", error.details) from error
        group, name, version = self.artifact.split(":")
        jar = repository / group.replace(".", "/") / name / version / f"{name}-{version}.jar"
        check_sum(jar, self.sha256)
        unpack_members(jar, self.members, root, work)
