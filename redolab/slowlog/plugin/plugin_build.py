"""Build of the slow query log without a lock, in the source tree of the server that loads it.

The plugin reads a session's `THD`, whose layout changes with every version and which only the server's source
declares. The lab fetches the source package of the server, configures it with Debian's options, and builds the target
`redolab_slow_log` in it, as MariaDB documents for plugins in the tree.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import xxhash

from redolab.errors import CommandFailed, InvalidInput, LabError, NotInArchive
from redolab.lab import Lab
from redolab.machine import files, processes
from redolab.machine.apt import PrivateApt
from redolab.machine.processes import Command
from redolab.project import PROJECT
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Setting, Version
from redolab.servers.install import InstalledServer
from redolab.servers.sandbox import INSTANCE
from redolab.servers.sources.debian import DebianSource
from redolab.slowlog.plugin import check_has_plugin

PLUGIN = "redolab_slow_log.so"
BUILD_PACKAGES = (
    "bison", "cmake", "dpkg-dev", "g++", "libfmt-dev", "libncurses-dev", "libpcre2-dev", "libssl-dev", "make", "zlib1g-dev",
)  # fmt: skip
_TARGET = "redolab_slow_log"
_BUILT = "slowlogplugin"
_DIGEST = "[0-9a-f]{16}"
_BINARY, SOURCE_PACKAGE = "mariadb-server-core", "mariadb"
"""The package with the server's binary, and the source package that it is built from."""
_BRAND = "-MariaDB"
_PATIENCE = 3600.0
_PLUGINS = "plugins"
_READABLE = 0o755
_AS_DEBIAN = ("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DBUILD_CONFIG=mysql_release", "-DDEB=Debian")
"""The options of debian/rules that decide about the layout of `THD`."""
_ELSEWHERE = ("-DIGNORE_AIO_CHECK=ON", "-DHAVE_SYSTEM_LIBFMT_EXITCODE=0", "-DWITH_SBOM=NO", "-DWITH_UNIT_TESTS=OFF")
"""Options for parts that the target does not take; a version that lacks one ignores it."""
_LEFT_OUT = (
    "AUTH_PAM", "AWS_KEY_MANAGEMENT", "COLUMNSTORE", "CONNECT", "MROONGA", "OQGRAPH", "ROCKSDB", "S3",
    "SPIDER",
)  # fmt: skip
"""Plugins that are libraries of their own: leaving them out saves their libraries, and changes no header."""


def lacking_packages() -> list[str]:
    """Return the packages that the build needs and that are not installed on this machine."""
    if processes.which("dpkg-query") is None:
        return list(BUILD_PACKAGES)
    asked = Command(["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *BUILD_PACKAGES])
    lines = processes.run(asked, check=False).out.splitlines()
    there = {name for name, status in (line.split() for line in lines) if status == "installed"}
    return [name for name in BUILD_PACKAGES if name not in there]


def built_slow_log_plugin(lab: Lab, server: InstalledServer) -> Path:
    """Return the plugin for this server, built once for its version and packaging revision.

    Raises `InvalidInput` for a server of another family or not of Debian's, `NotInArchive` if its source package cannot
    be had, `LabError` if this machine cannot build it.
    """
    check_has_plugin(server.name, server.dialect)
    suite = _suite(server)
    folder = lab.tools.folder_of(f"{_BUILT}-{server.name}-{_digest(server)}")
    plugin = folder / PLUGIN
    if plugin.exists():
        return plugin
    if lacking := lacking_packages():
        lab.tools.install(lacking, lab.progress)
    making = folder.with_name(f"{_BUILT}.partial")
    with lab.journal.making(making, "the half-built slow log plugin"):
        with lab.progress.stage(f"getting the source of {server.name} {server.version}"):
            apt = PrivateApt.prepare(making / "apt", suite, source_packages=True)
            version = _source_version(server, apt.source_versions(SOURCE_PACKAGE))
            apt.unpack_source(SOURCE_PACKAGE, version, making / "tree")
        with lab.progress.stage(f"building the slow log plugin for {server.name} {server.version}"):
            built = _build(making / "tree", making / "build", _suffix(server))
        files.make_folder(making / "plugin")
        files.move(built, making / "plugin" / PLUGIN)
        earlier = re.compile(rf"{re.escape(f'{_BUILT}-{server.name}')}-{_DIGEST}")
        for name in files.names(folder.parent):
            if earlier.fullmatch(name):
                files.remove(folder.parent / name)
        files.move(making / "plugin", folder)
    return plugin


def install_plugins(folder: Path, plugins: Sequence[Path]) -> Setting:
    """Copy plugins into an instance's folder. Return the setting by which its server finds them.

    `INSTALL SONAME 'NAME'` loads a plugin then, or `plugin_load_add` in the option file.
    """
    plugin_dir = folder / _PLUGINS
    files.make_folder(plugin_dir)
    plugin_dir.chmod(_READABLE)
    for plugin in plugins:
        copy = plugin_dir / plugin.name
        files.write_whole(copy, plugin.read_bytes())
        copy.chmod(_READABLE)
    return Setting("plugin_dir", str(INSTANCE / _PLUGINS), "plugins of the lab's own")


def _build(tree: Path, build: Path, suffix: str) -> Path:
    """Compile the plugin in the server's source `tree`, and return its library."""
    own = tree / "plugin" / _TARGET
    files.make_folder(own)
    for source in _sources():
        shutil.copy(source, own)
    left_out = [f"-DPLUGIN_{plugin}=NO" for plugin in _LEFT_OUT]
    options = [*_AS_DEBIAN, f"-DMYSQL_SERVER_SUFFIX={suffix}", *_ELSEWHERE, *left_out]
    try:
        processes.run(Command(["cmake", "-S", str(tree), "-B", str(build), *options]), seconds=_PATIENCE)
        making = ["cmake", "--build", str(build), "--target", _TARGET, "--parallel", str(os.cpu_count() or 1)]
        processes.run(Command(making), seconds=_PATIENCE)
    except CommandFailed as error:
        raise LabError(
            "the slow log plugin could not be built", "see what cmake or the compiler said below", error.details
        ) from error
    return build / "plugin" / _TARGET / PLUGIN


def _suite(server: InstalledServer) -> str:
    """Return the suite of a server by its version: a server of the user's own may be Debian's."""
    ours = server.dialect.version
    for entry in dict(server_catalogue().items()).values():
        version, source = Version.parse(entry.version), entry.source
        same = entry.family == server.dialect.family and (version.major, version.minor) == (ours.major, ours.minor)
        if same and isinstance(source, DebianSource) and source.packages[0].partition("=")[0] == _BINARY:
            return source.suite_here()
    raise InvalidInput(
        f"{server.name} {server.version} is not one of Debian's servers, and the plugin is built from Debian's sources",
        "name a MariaDB server of Debian's (mariadb-10.11, mariadb-11.8)",
    )


def _source_version(server: InstalledServer, versions: list[str]) -> str:
    """Return the version of the source package that the server was built from."""
    for version in versions:
        revision = f"-{version.rpartition('-')[2]}"
        if Version.parse(version) == server.dialect.version and _suffix(server) == revision:
            return version
    raise NotInArchive(
        f"the archive has the source package {SOURCE_PACKAGE} as {', '.join(versions) or 'nothing'}, and {server.name} here is "
        f"{server.version}",
        f"redolab server fetch {server.name}",
    )


def _suffix(server: InstalledServer) -> str:
    """Return Debian's revision as the server's version has it, as in `-0+deb12u1`."""
    return server.version.partition(_BRAND)[2]


def _digest(server: InstalledServer) -> str:
    """Return a hash of the sources and of the server's full version."""
    hashed = xxhash.xxh3_64(server.version.encode())
    for path in _sources():
        hashed.update(path.name.encode() + path.read_bytes())
    return hashed.hexdigest()


def _sources() -> list[Path]:
    return sorted(path for path in PROJECT.slow_log_plugin.glob("*") if path.is_file() and path.name != "Makefile")
