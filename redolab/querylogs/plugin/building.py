"""The slow query log without a lock, built from `slowlogplugin/` for exactly one server."""

from __future__ import annotations

import re
from pathlib import Path

import xxhash

from redolab.errors import CommandFailed, InvalidInput, LabError
from redolab.lab import Lab
from redolab.machine import files, processes
from redolab.machine.processes import Command
from redolab.project import PROJECT
from redolab.querylogs.plugin.layout import as_header, read_layout
from redolab.servers.dialects import Dialect
from redolab.servers.install import InstalledServer

PLUGIN = "redolab_slow_log.so"
_PACKAGES = ("g++", "make", "binutils")
_PROGRAMS = ("c++", "make", "objdump")
_LAYOUT = "server_layout.h"
_BUILT = "slowlogplugin"
_DIGEST = "[0-9a-f]{16}"


def check_has_plugin(name: str, dialect: Dialect) -> None:
    """Raises `InvalidInput` if there is no such plugin for servers of this dialect."""
    if not dialect.takes_audit_plugins:
        raise InvalidInput(
            f"the slow log plugin is for MariaDB, and {name} is of the family {dialect.family}",
            "name a MariaDB server (redolab servers)",
        )


def built_slow_log_plugin(lab: Lab, server: InstalledServer) -> Path:
    """The plugin for this very server, built if it is not yet.

    What a build is for is the binary: another build of the same version gets a plugin of its own. Raises
    `InvalidInput` for a server of another family, `LabError` if this machine cannot build it, or for a server whose
    layout cannot be read.
    """
    check_has_plugin(server.name, server.dialect)
    program = server.system / server.program.relative_to("/")
    folder = lab.tools.own(f"{_BUILT}-{server.name}-{_digest(program)}")
    plugin = folder / PLUGIN
    if plugin.exists():
        return plugin
    if any(processes.which(each) is None for each in _PROGRAMS):
        lab.tools.install(_PACKAGES, lab.progress)
    making = folder.with_name(f"{_BUILT}.partial")
    with (
        lab.journal.making(making, "the half-built slow log plugin"),
        lab.progress.stage(f"building the slow log plugin for {server.name} {server.version}"),
    ):
        header = as_header(read_layout(program), server.version)
        files.write_whole(making / _LAYOUT, header.encode())
        _compile(making)
        earlier = re.compile(rf"{re.escape(f'{_BUILT}-{server.name}')}-{_DIGEST}")
        for name in files.names(folder.parent):
            if earlier.fullmatch(name):
                files.remove(folder.parent / name)
        files.move(making, folder)
    return plugin


def _compile(making: Path) -> None:
    try:
        processes.run(Command(["make", "--silent", f"--directory={PROJECT.slow_log_plugin}", f"BUILD={making}"]))
    except CommandFailed as error:
        raise LabError(
            "the slow log plugin could not be built", "see what the compiler said below", error.details
        ) from error


def _digest(program: Path) -> str:
    """A hash of the sources and of the server's binary."""
    hashed = xxhash.xxh3_64()
    for path in sorted(path for path in PROJECT.slow_log_plugin.glob("*") if path.is_file()):
        hashed.update(path.name.encode() + path.read_bytes())
    with program.open("rb") as file:
        while block := file.read(1 << 20):
            hashed.update(block)
    return hashed.hexdigest()
