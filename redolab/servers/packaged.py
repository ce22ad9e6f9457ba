"""Files of MariaDB's packages that a server's core package leaves out: the audit plugin, and mariadb-backup."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from redolab.errors import InvalidInput, LabError
from redolab.machine import files
from redolab.machine.apt import PrivateApt
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Version
from redolab.servers.install import InstalledServer
from redolab.servers.sources.debian import DebianSource

if TYPE_CHECKING:
    from redolab.lab import Lab

AUDIT_PLUGIN = "server_audit.so"
_CORE = "mariadb-server-core"
_EXECUTABLE = 0o755


def server_audit_plugin(lab: Lab, server: InstalledServer) -> Path:
    """Return the audit plugin of a MariaDB server from MariaDB's packages; fetch it if it is missing.

    Raises `InvalidInput` for any other server, and `LabError` if the archive has another version.
    """
    core, _ = _core_package(server.name)
    return _file_of_package(lab, server, core.replace("-core", ""), Path("usr/lib/mysql/plugin", AUDIT_PLUGIN))


def mariadb_backup(lab: Lab, server: InstalledServer) -> Path:
    """Return the program mariadb-backup of a MariaDB server's version, for its sandbox; fetch it if it is missing.

    Raises `InvalidInput` for any other server, and `LabError` if the archive has another version.
    """
    return _file_of_package(lab, server, "mariadb-backup", Path("usr/bin/mariadb-backup"))


def has_packages(name: str) -> bool:
    """Return True if the named server is one of MariaDB's packages, which have a backup program."""
    source = server_catalogue().get(name).source
    return isinstance(source, DebianSource) and any(package.startswith(_CORE) for package in source.packages)


def _file_of_package(lab: Lab, server: InstalledServer, package: str, path: Path) -> Path:
    """Return a file of a package of the server's version, in a folder of its own."""
    _, source = _core_package(server.name)
    folder = lab.tools.folder_of(f"{path.name}-{server.name}-{server.dialect.version}")
    file = folder / path.name
    if file.exists():
        return file
    making = folder.with_name(f"{path.name}.partial")
    with (
        lab.journal.making(making, f"the half-fetched {package}"),
        lab.progress.stage(f"getting {path.name} of {package}"),
    ):
        apt = PrivateApt.prepare(making / "apt", source.suite_here())
        version = apt.unpack_alone(package, making / "root")
        if Version.parse(version) != server.dialect.version:
            raise LabError(
                f"the archive has {package} {version}, and {server.name} here is {server.version}",
                f"redolab server fetch {server.name}",
            )
        found = making / "root" / path
        if not found.is_file():
            raise LabError(f"{package} {version} has no {path}", "use another server (redolab servers)")
        files.write_whole(making / "file" / path.name, found.read_bytes())
        (making / "file" / path.name).chmod(_EXECUTABLE)
        files.move(making / "file", folder)
    return file


def _core_package(name: str) -> tuple[str, DebianSource]:
    """Return the package that was unpacked for a server, such as `mariadb-server-core-10.5`, and its source."""
    source = server_catalogue().get(name).source
    if isinstance(source, DebianSource):
        for package in source.packages:
            if package.startswith(_CORE):
                return package, source
    raise InvalidInput(
        f"{name} is not from MariaDB's packages, which alone have its other programs",
        "name a MariaDB server of Debian's (mariadb-10.5, mariadb-10.11, mariadb-11.8)",
    )
