"""The programs the lab needs beside Python, and how it gets them.

As root, or with a sudo that asks nothing, apt installs them. Otherwise their packages are unpacked into the project's own folder, which
needs no privilege.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from redolab.apt import PrivateApt, codename
from redolab.errors import LabError
from redolab.hosts import Command, Host
from redolab.progress import Progress

PACKAGES = {
    "bwrap": "bubblewrap",
    "sysbench": "sysbench",
    "mvn": "maven",
    "npm": "npm",
}
"""Program → the Debian package that has it."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program, where it is and the environment it wants."""

    program: Path
    environment: Mapping[str, str] = field(default_factory=dict)


class Tools:
    """The tools of a host; `folder` is where unpacked ones lie."""

    def __init__(self, host: Host, folder: Path) -> None:
        self._host = host
        self._folder = folder

    def find(self, name: str) -> Tool | None:
        """A tool that is there already, installed or unpacked."""
        if installed := shutil.which(name):
            return Tool(Path(installed))
        unpacked = self._folder / "usr/bin" / name
        if not self._host.files.exists(unpacked):
            return None
        libraries = [self._folder / "usr/lib" / folder for folder in self._host.files.names(self._folder / "usr/lib")]
        scripts = self._folder / "usr/share/sysbench/?.lua"
        environment = {
            "LD_LIBRARY_PATH": ":".join(str(folder) for folder in libraries if folder.name.endswith("-linux-gnu")),
            "LUA_PATH": f"{scripts};;",
        }
        return Tool(unpacked, environment)

    def get(self, name: str) -> Tool:
        """A tool that `require` has seen to."""
        tool = self.find(name)
        if tool is None:
            raise LabError(f"{name} is not on this machine", f"apt install {PACKAGES[name]}")
        return tool

    def require(self, names: Sequence[str], progress: Progress) -> None:
        """Have these tools on the host, fetching what is missing. Raises `LabError` if that cannot be done."""
        packages = [PACKAGES[name] for name in names if self.find(name) is None]
        if not packages:
            return
        privilege = self._privilege()
        with progress.stage(f"getting {', '.join(packages)}"):
            if privilege is None:
                self._unpack(packages)
            else:
                self._install(privilege, packages)
        for name in names:
            self.get(name)

    def _privilege(self) -> list[str] | None:
        """What to put before a command so that it runs as root; None if there is no way."""
        if self._host.is_root():
            return []
        sudo = ["sudo", "--non-interactive"]
        allowed = shutil.which("sudo") and self._host.run(Command([*sudo, "true"]), check=False).status == 0
        return sudo if allowed else None

    def _install(self, privilege: list[str], packages: Sequence[str]) -> None:
        environment = {"DEBIAN_FRONTEND": "noninteractive"}
        install = [*privilege, "apt-get", "--quiet", "install", "--yes", "--no-install-recommends", *packages]
        if self._host.run(Command(install, environment=environment), check=False).status != 0:
            # A fresh machine has no package lists yet, an old one has stale ones.
            self._host.run(Command([*privilege, "apt-get", "--quiet", "update"]))
            self._host.run(Command(install, environment=environment))

    def _unpack(self, packages: Sequence[str]) -> None:
        work = self._folder.with_name(f"{self._folder.name}.apt")
        try:
            apt = PrivateApt.prepare(self._host, work, codename(self._host), beside_installed=True)
            apt.unpack(self._host, packages, self._folder)
        finally:
            self._host.files.remove(work)
