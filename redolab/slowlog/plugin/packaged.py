"""MariaDB's audit plugin, which is built with a server of Debian's and left out of its core package."""

from __future__ import annotations

from pathlib import Path

from redolab.errors import InvalidInput, LabError
from redolab.lab import Lab
from redolab.machine import files
from redolab.machine.apt import PrivateApt
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Version
from redolab.servers.install import InstalledServer
from redolab.servers.sources.debian import DebianSource

AUDIT_PLUGIN = "server_audit.so"
_PLUGIN = Path("usr/lib/mysql/plugin", AUDIT_PLUGIN)
_CORE = "mariadb-server-core"


def server_audit_plugin(lab: Lab, server: InstalledServer) -> Path:
    """Return the audit plugin of a MariaDB server from MariaDB's packages; fetch it if it is missing.

    Raises `InvalidInput` for any other server, and `LabError` if the archive has another version.
    """
    package, source = _package(server)
    folder = lab.tools.own(f"server-audit-{server.name}-{server.dialect.version}")
    plugin = folder / AUDIT_PLUGIN
    if plugin.exists():
        return plugin
    making = folder.with_name("server-audit.partial")
    with (
        lab.journal.making(making, f"the half-fetched {package}"),
        lab.progress.stage(f"getting {AUDIT_PLUGIN} of {package}"),
    ):
        apt = PrivateApt.prepare(making / "apt", source.suite_here())
        version = apt.unpack_alone(package, making / "root")
        if Version.parse(version) != server.dialect.version:
            raise LabError(
                f"the archive has {package} {version}, and {server.name} here is {server.version}",
                f"redolab server fetch {server.name}",
            )
        found = making / "root" / _PLUGIN
        if not found.is_file():
            raise LabError(f"{package} {version} has no {_PLUGIN}", "use another server (redolab servers)")
        files.write_whole(making / "plugin" / AUDIT_PLUGIN, found.read_bytes())
        files.move(making / "plugin", folder)
    return plugin


def _package(server: InstalledServer) -> tuple[str, DebianSource]:
    """Return the package with a server's plugins, such as `mariadb-server-10.5`: only its core package is unpacked."""
    source = server_catalogue().get(server.name).source
    if isinstance(source, DebianSource):
        for package in source.packages:
            if package.startswith(_CORE):
                return package.replace("-core", ""), source
    raise InvalidInput(
        f"{server.name} is not from MariaDB's packages, and its {AUDIT_PLUGIN} cannot be had alone",
        "name a MariaDB server of Debian's (mariadb-10.5, mariadb-10.11, mariadb-11.8)",
    )
