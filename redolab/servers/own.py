"""A user's own servers: tarballs and folders, added by name to a catalogue of their own."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from redolab.errors import CommandFailed, InvalidInput
from redolab.machine.files import write_whole
from redolab.servers.entry import CatalogueEntry
from redolab.servers.install import InstalledServer
from redolab.servers.sources.archive import SERVER, ArchiveSource, check_sum, names_in, sha256
from redolab.servers.sources.folder import FolderSource

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,40}")
_PROGRAMS = ("mariadbd", "mysqld")
_PROGRAM_FOLDERS = ("bin", "sbin", "libexec", "runtime_output_directory", "sql")
_SHARE_FOLDERS = ("share/mariadb", "share/mysql", "share", "sql/share")
_MESSAGES = "english/errmsg.sys"
_NOT_READ_YET = "0.0"


class OwnServers:
    """The servers that this clone's user has added."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def entries(self) -> dict[str, CatalogueEntry]:
        """Return all entries by name. Raises `InvalidInput` for a name that a folder cannot have."""
        if not self._file.exists():
            return {}
        entries = msgspec.json.decode(self._file.read_bytes(), type=dict[str, CatalogueEntry])
        for name in entries:
            # The name becomes a folder's, and could be a path out of the lab's folder.
            if not _NAME.fullmatch(name):
                raise InvalidInput(f"{self._file}: '{name}' cannot be a server's name", "mend that entry")
        return entries

    def keep(self, name: str, entry: CatalogueEntry, server: InstalledServer) -> None:
        """Keep an installed server, with family and version as its binary reports them."""
        known = msgspec.structs.replace(entry, family=server.dialect.family, version=str(server.dialect.version))
        self._write({**self.entries(), name: known})

    def forget(self, name: str) -> None:
        """Remove a server from the user's own. Raises `InvalidInput` if the user had not added it."""
        entries = self.entries()
        if name not in entries:
            raise InvalidInput(f"'{name}' is not a server that you added", f"yours: {', '.join(entries) or 'none'}")
        del entries[name]
        self._write(entries)

    def _write(self, entries: dict[str, CatalogueEntry]) -> None:
        write_whole(self._file, msgspec.json.format(msgspec.json.encode(entries)))


def check_name(name: str, taken: list[str]) -> None:
    """Raise `InvalidInput` for a name that a folder cannot have or that is taken."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"'{name}' cannot be a server's name", "use small letters, digits, '.', '-' and '_'")
    if name in taken:
        raise InvalidInput(f"there is a server '{name}' already", "choose another name, or 'redolab server rm' it")


def entry_of_tarball(file: Path, expected_sha256: str | None) -> CatalogueEntry:
    """Return the entry for a vendor's Linux tarball. Raises `InvalidInput`, or `LabError` for a wrong checksum."""
    if not file.is_file():
        raise InvalidInput(f"{file} is no file", "give a vendor's generic Linux tarball")
    if expected_sha256 is not None:
        check_sum(file, expected_sha256)
    try:
        inside = names_in(file)
    except CommandFailed:
        inside = set()
    program = next((f"bin/{name}" for name in _PROGRAMS if f"bin/{name}" in inside), None)
    share = next((folder for folder in _SHARE_FOLDERS if f"{folder}/{_MESSAGES}" in inside), None)
    if program is None or share is None:
        raise InvalidInput(
            f"{file} holds no server", "it needs bin/mysqld or bin/mariadbd, and share/english/errmsg.sys"
        )
    return CatalogueEntry(
        family="mysql",
        version=_NOT_READ_YET,
        program=str(SERVER / program),
        share=str(SERVER / share),
        source=ArchiveSource(file=str(file.absolute()), sha256=expected_sha256 or sha256(file)),
    )


def entry_of_folder(folder: Path) -> CatalogueEntry:
    """Return the entry for a build tree or an installed server. Raises `InvalidInput`."""
    folder = folder.absolute()
    programs = [folder / place / name for place in _PROGRAM_FOLDERS for name in _PROGRAMS]
    program = next((path for path in programs if path.is_file()), None)
    share = next((folder / place for place in _SHARE_FOLDERS if (folder / place / _MESSAGES).is_file()), None)
    if program is None or share is None:
        raise InvalidInput(
            f"{folder} holds no server", "it needs bin/mysqld or sql/mysqld, and share/english/errmsg.sys"
        )
    return CatalogueEntry(
        family="mysql",
        version=_NOT_READ_YET,
        program=str(program).removeprefix("/"),
        share=str(share).removeprefix("/"),
        source=FolderSource(path=str(folder)),
    )
