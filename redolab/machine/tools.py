"""The programs the lab needs beside Python, and how it gets them.

As root, or with a sudo that asks nothing, apt installs them. Otherwise their packages are unpacked into the project's
own folder, which needs no privilege. On machines without apt they are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from redolab.errors import LabError
from redolab.machine import files, processes
from redolab.machine.apt import PrivateApt, codename
from redolab.machine.clean_up_journal import Journal
from redolab.machine.distribution import has_apt, how_to_install
from redolab.machine.distribution import names as distribution_names
from redolab.machine.processes import Command
from redolab.progress import Progress

PACKAGES = {
    "bwrap": "bubblewrap",
    "sysbench": "sysbench",
    "mvn": "maven",
    "npm": "npm",
    "fio": "fio",
    "mkfs.xfs": "xfsprogs",
}
"""Program → the Debian package that has it."""

_NEED_INSTALLATION = ("mvn", "npm")
"""Programs that do not work when their packages are only unpacked."""
_VERSION_OPTION = {"mkfs.xfs": "-V"}
"""Programs that do not know `--version`."""
_PATIENCE = 3600.0
_LOCK = 300
"""Seconds to wait for another package manager, such as the one that runs on a fresh machine."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program, where it is and the environment it wants."""

    program: Path
    environment: Mapping[str, str] = field(default_factory=dict)


class Tools:
    """The tools of this machine; `folder` is where unpacked ones lie."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self._journal = journal
        self._folder = folder

    def find(self, name: str) -> Tool | None:
        """Return a tool that is already installed or unpacked; None if it is not."""
        if installed := processes.which(name):
            return Tool(installed)
        root = self._folder / name
        unpacked = root / "usr/bin" / name
        if not unpacked.exists():
            return None
        libraries = [root / "usr/lib" / folder for folder in files.names(root / "usr/lib")]
        scripts = root / "usr/share/sysbench/?.lua"
        environment = {
            "LD_LIBRARY_PATH": ":".join(str(folder) for folder in libraries if folder.name.endswith("-linux-gnu")),
            "LUA_PATH": f"{scripts};;",
        }
        return Tool(unpacked, environment)

    def folder_of(self, name: str) -> Path:
        """Return the folder of a tool that the lab builds itself, existing or not."""
        return self._folder / name

    def first_of(self, names: Sequence[str]) -> tuple[str, Tool] | None:
        """Return the first of these programs that exists, with its name; None if none does. Fetches nothing."""
        return next(((name, tool) for name in names if (tool := self.find(name)) is not None), None)

    def get(self, name: str) -> Tool:
        """Return a tool that `require` has provided. Raises `LabError` if it is missing."""
        tool = self.find(name)
        if tool is None:
            raise LabError(f"{name} is not on this machine", how_to_install([PACKAGES[name]]))
        return tool

    def require(self, names: Sequence[str], progress: Progress) -> None:
        """Ensure that these tools are on this machine; fetch missing ones. Raises `LabError` if that fails."""
        missing = [name for name in names if self.find(name) is None]
        if not missing:
            return
        packages = [PACKAGES[name] for name in missing]
        if has_apt() and self._privilege() is None:
            with progress.stage(f"getting {', '.join(packages)}"):
                self._unpack(missing)
        else:
            self.install(packages, progress)
        for name in names:
            self.get(name)

    def install(self, packages: Sequence[str], progress: Progress) -> None:
        """Install packages. Raises `LabError` without root or apt."""
        if not has_apt():
            raise LabError(
                f"this machine, {distribution_names()[0]}, lacks {', '.join(packages)}, and the lab installs with apt alone",
                how_to_install(packages),
            )
        privilege = self._privilege()
        if privilege is None:
            raise LabError(f"{', '.join(packages)} cannot be installed without root", how_to_install(packages))
        with progress.stage(f"getting {', '.join(packages)}"):
            self._install(privilege, packages)

    def versions(self) -> dict[str, str]:
        """Return the version of each tool that is present: its first non-empty line, without colours and control codes."""
        found = {name: self.find(name) for name in PACKAGES}
        return {name: self._version(name, tool) for name, tool in found.items() if tool is not None}

    def _version(self, name: str, tool: Tool) -> str:
        ask = Command([str(tool.program), _VERSION_OPTION.get(name, "--version")], environment=tool.environment)
        first_line = click.unstyle(processes.run(ask, check=False).out).strip().partition("\n")[0]
        return "".join(filter(str.isprintable, first_line)).rstrip()

    def _privilege(self) -> list[str] | None:
        """Return the command prefix that runs a command as root, empty if the lab is root; None if there is no way."""
        if processes.is_root():
            return []
        sudo = ["sudo", "--non-interactive"]
        allowed = processes.which("sudo") and processes.run(Command([*sudo, "true"]), check=False).status == 0
        return sudo if allowed else None

    def _install(self, privilege: list[str], packages: Sequence[str]) -> None:
        # sudo drops the environment, and a package manager must not be broken off.
        apt = [
            *privilege,
            "env",
            "DEBIAN_FRONTEND=noninteractive",
            "apt-get",
            "--quiet",
            f"-o=DPkg::Lock::Timeout={_LOCK}",
        ]
        install = Command([*apt, "install", "--yes", "--no-install-recommends", *packages])
        if processes.run(install, seconds=_PATIENCE, check=False, to_its_end=True).status != 0:
            # A fresh machine has no package lists yet, an old one has stale ones.
            processes.run(Command([*apt, "update"]), seconds=_PATIENCE, to_its_end=True)
            processes.run(install, seconds=_PATIENCE, to_its_end=True)

    def _unpack(self, names: Sequence[str]) -> None:
        for name in names:
            if name in _NEED_INSTALLATION:
                raise LabError(
                    f"{name} is not on this machine, and only root can have it", how_to_install([PACKAGES[name]])
                )
        for name in names:
            making = self._folder.with_name(f"{self._folder.name}.partial")
            with self._journal.making(making, f"the half-unpacked {name}"):
                apt = PrivateApt.prepare(making / "apt", codename(), beside_installed=True)
                apt.unpack([PACKAGES[name]], making / "root")
                files.move(making / "root", self._folder / name)
