"""MariaDB servers that can load the slow log plugin."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from redolab.errors import NotInArchive
from redolab.lab import Lab
from redolab.machine.apt import PrivateApt
from redolab.project import PROJECT
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Version
from redolab.servers.install import InstalledServer
from redolab.servers.own import forget_own_server, keep_own_server
from redolab.servers.sources.debian import DebianSource
from redolab.slowlog.plugin.plugin_build import SOURCE_PACKAGE, built_slow_log_plugin, install_plugins
from tests.beside import folder_of_tests
from tests.slowlog.servers import UsersServer, users_server

PLUGIN = "redolab_slow_log"
_PATIENCE = 20.0
_OLDER = "-with-source"
_REFUSED: dict[str, str] = {}
"""The archive's reasons, by server, where it has no source of any version."""


def buildable(lab: Lab, name: str) -> InstalledServer:
    """Return a server of the catalogue's entry in the newest version whose source the archive hands out.

    A mirror can lack the newest source package: then an older version of the suite, NAME-with-source, stands in. Skips
    the test, with the archive's words, if there is none.
    """
    if older := lab.servers.versions(f"{name}{_OLDER}"):
        return older[0]
    if name in _REFUSED:
        pytest.skip(_REFUSED[name])
    server = lab.server(name)
    try:
        built_slow_log_plugin(lab, server)
    except NotInArchive as refused:
        return _older(lab, name, refused)
    return server


def _older(lab: Lab, name: str, refused: NotInArchive) -> InstalledServer:
    entry = server_catalogue().get(name)
    source = entry.source
    assert isinstance(source, DebianSource)
    (binary,) = source.packages
    lists = lab.folder / "tools/slowlogplugin.partial"
    with lab.journal.making(lists, "lists of packages"):
        apt = PrivateApt.prepare(lists, source.suite_here(), source_packages=True)
        versions = sorted(apt.source_versions(SOURCE_PACKAGE), key=Version.parse, reverse=True)
    why = [str(refused)]
    for version in versions[1:]:
        pinned = msgspec.structs.replace(source, packages=[f"{binary}={version}"])
        older = msgspec.structs.replace(entry, source=pinned)
        server = lab.servers.install(f"{name}{_OLDER}", older, lab.progress)
        try:
            built_slow_log_plugin(lab, server)
        except NotInArchive as error:
            lab.servers.remove(server.name)
            why.append(str(error))
            continue
        return server
    _REFUSED[name] = "; ".join(why)
    pytest.skip(_REFUSED[name])


@contextmanager
def in_catalogue(server: InstalledServer) -> Iterator[None]:
    """Have commands find the server by its name, also if the catalogue lacks it."""
    if server.name in server_catalogue().names():
        yield
        return
    entry = server_catalogue().get(server.name.removesuffix(_OLDER))
    source = msgspec.json.decode((server.folder / "server.json").read_bytes())["source"]
    keep_own_server(server.name, msgspec.structs.replace(entry, source=msgspec.convert(source, DebianSource)), server)
    try:
        yield
    finally:
        forget_own_server(server.name)


@contextmanager
def server_with_plugin(lab: Lab, name: str, folder: Path, **settings: str) -> Iterator[UsersServer]:
    """Run a server in `folder` that finds the plugin and logs every statement."""
    server = buildable(lab, name)
    plugin_dir = install_plugins(folder, [built_slow_log_plugin(lab, server)])
    wanted = {
        "long_query_time": "0",
        "slow_query_log_file": "built-in.log",
        str(plugin_dir.name): str(plugin_dir.value),
        **settings,
    }
    with users_server(server, folder, wanted) as running:
        # As servers come, not as `users_server` has them.
        running.do("SET GLOBAL log_slow_filter = ''", "SET GLOBAL log_slow_disabled_statements = 'sp'")
        yield running


def until(is_so: Callable[[], bool]) -> None:
    """Wait until `is_so`: a server logs a statement after the client has the answer."""
    deadline = time.monotonic() + _PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to be so"
        time.sleep(0.01)


def built_stress() -> Path:
    """Build the tests without a server. Return their folder, which is kept: three sanitizers make the build slow."""
    build = folder_of_tests() / "lab/tools/slowlogplugin-tests"
    make = ["make", "--silent", f"--directory={PROJECT.slow_log_plugin}", f"BUILD={build}", "tests-built"]
    subprocess.run(make, check=True, capture_output=True)
    return build


def status(server: UsersServer) -> dict[str, int]:
    """Return the plugin's counters, named without their prefix."""
    with server.instance.connections.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION long_query_time = 1000")
        cursor.execute(f"SHOW GLOBAL STATUS LIKE '{PLUGIN}%'")
        return {str(name).lower().removeprefix(f"{PLUGIN}_"): int(value) for name, value in cursor.fetchall()}
