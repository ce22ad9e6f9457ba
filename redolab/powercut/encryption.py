"""Tables and redo log that are encrypted, with a key in the instance's own folder."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.machine import files
from redolab.querylogs.plugin.installing import PLUGIN_DIR, installed
from redolab.querylogs.plugin.packaged import has_packaged_plugins, packaged_plugin
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import KeySource, Setting
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA
from redolab.servers.sandbox import INSTANCE, Sandbox
from redolab.servers.sources.folder import FolderSource

_KEYS = "keys"
_WHY = "as asked: what is varied"


@dataclass(frozen=True, slots=True)
class Encryption:
    """What makes a server encrypt."""

    settings: Sequence[Setting]
    of_table: str
    """What follows ALTER TABLE and a table's name."""
    encrypted: str
    """The table of `information_schema` that has a row for each tablespace, and which rows are of encrypted ones."""
    files: Mapping[Path, bytes]
    """What has to lie in the folder of its instance."""
    plugins: Sequence[Path] = field(default=())

    def put(self, folder: Path) -> None:
        """Put what it needs into the folder of an instance, whose data directory is there."""
        installed(folder, self.plugins)
        for name, content in self.files.items():
            files.write_whole(folder / name, content)
            # MySQL opens its keys while it is still root, and writes them when it no longer is.
            if (owner := Sandbox.owner()) is not None:
                os.chown(folder / name, owner, owner)


def can_encrypt(server: str) -> bool:
    """Whether the lab can have a server of the catalogue encrypt: MySQL 8.0.24 and later, MariaDB of Debian's."""
    entry = server_catalogue().get(server)
    match entry.dialect().key_source:
        case KeySource.PLUGIN:
            return has_packaged_plugins(server)
        case KeySource.COMPONENT:
            return not isinstance(entry.source, FolderSource)
        case None:
            return False


def encryption_of(lab: Lab, server: InstalledServer) -> Encryption:
    """What makes that server encrypt tables and redo log. Raises `InvalidInput` where it cannot be had, `LabError`."""
    match server.dialect.key_source:
        case KeySource.PLUGIN:
            return _by_plugin(lab, server)
        case KeySource.COMPONENT:
            return _by_component(server)
        case None:
            raise InvalidInput(f"{server.name} cannot be made to encrypt here", "name MySQL 8.0.24 or later")


def _by_plugin(lab: Lab, server: InstalledServer) -> Encryption:
    plugin = packaged_plugin(lab, server, f"{KeySource.PLUGIN}.so")
    return Encryption(
        settings=(
            PLUGIN_DIR,
            Setting("plugin_load_add", plugin.stem, _WHY),
            Setting("file_key_management_filename", str(INSTANCE / _KEYS), _WHY),
            Setting("innodb_encrypt_tables", "ON", _WHY),
            Setting("innodb_encrypt_log", "ON", _WHY),
        ),
        of_table="ENCRYPTED=YES",
        encrypted="INNODB_TABLESPACES_ENCRYPTION WHERE MIN_KEY_VERSION > 0",
        files={Path(_KEYS): f"1;{secrets.token_hex(32)}\n".encode()},
        plugins=(plugin,),
    )


def _by_component(server: InstalledServer) -> Encryption:
    allow_keys(server)
    where = {"path": str(INSTANCE / DATA / _KEYS), "read_only": False}
    return Encryption(
        settings=(Setting("innodb_redo_log_encrypt", "ON", _WHY), Setting("innodb_undo_log_encrypt", "ON", _WHY)),
        of_table="ENCRYPTION='Y'",
        encrypted="INNODB_TABLESPACES WHERE ENCRYPTION = 'Y'",
        files={
            Path(DATA, _manifest(server)): _json({"components": f"file://{KeySource.COMPONENT}"}),
            Path(DATA, f"{KeySource.COMPONENT}.cnf"): _json(where),
            Path(DATA, _KEYS): b"",
        },
    )


def allow_keys(server: InstalledServer) -> None:
    """Let each instance of a server say whether it has keys: MySQL looks first beside its program and its component.

    One that says nothing has none. Raises `InvalidInput` for a server that lies in a folder of its owner's, or has no component.
    """
    if server.dialect.key_source is not KeySource.COMPONENT:
        return
    found = None if server.system == Path("/") else next(server.system.rglob(f"{KeySource.COMPONENT}.so"), None)
    if found is None:
        raise InvalidInput(
            f"{server.name} has no {KeySource.COMPONENT} that the lab may configure",
            "name MySQL 8.0.24 or later of its own",
        )
    program = server.system / server.program.relative_to("/")
    files.write_whole(program.with_name(_manifest(server)), _json({"read_local_manifest": True}))
    files.write_whole(found.with_suffix(".cnf"), _json({"read_local_config": True}))


def _manifest(server: InstalledServer) -> str:
    return f"{server.program.name}.my"


def _json(content: Mapping[str, object]) -> bytes:
    return msgspec.json.encode(content)
