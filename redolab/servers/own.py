"""A user's own servers: tarballs and folders, added by name to a catalogue of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from redolab.errors import CommandFailed, InvalidInput
from redolab.machine.files import write_whole
from redolab.project import PROJECT
from redolab.servers.install import CatalogueEntry, InstalledServer
from redolab.servers.sources.archive import SERVER, ArchiveSource, check_sum, names_in, sha256
from redolab.servers.sources.folder import FolderSource

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,40}")
_PROGRAMS = ("mariadbd", "mysqld")
_PROGRAM_FOLDERS = ("bin", "sbin", "libexec", "runtime_output_directory", "sql")
_SHARE_FOLDERS = ("share/mariadb", "share/mysql", "share", "sql/share")
_MESSAGES = "english/errmsg.sys"
_NOT_READ_YET = "0.0"


def own_servers() -> dict[str, CatalogueEntry]:
    """Return the servers that the user added, by name.

    Raises `InvalidInput` for a file that cannot be read, and for a name that a folder cannot have.
    """
    file = PROJECT.own_servers
    if not file.exists():
        return {}
    try:
        entries = msgspec.json.decode(file.read_bytes(), type=dict[str, CatalogueEntry])
    except (msgspec.DecodeError, OSError) as error:
        raise InvalidInput(f"the catalogue {file} cannot be read ({error})", "mend that entry") from error
    for name in entries:
        # The name becomes a folder's, and could be a path out of the lab's folder.
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"{file}: '{name}' cannot be a server's name", "mend that entry")
    return entries


def keep_own_server(name: str, entry: CatalogueEntry, server: InstalledServer) -> None:
    """Add an installed server to the user's own, with family and version as its binary reports them."""
    known = msgspec.structs.replace(entry, family=server.dialect.family, version=str(server.dialect.version))
    _write({**own_servers(), name: known})


def forget_own_server(name: str) -> None:
    """Remove a server from the user's own. Raises `InvalidInput` if the user had not added it."""
    entries = own_servers()
    if name not in entries:
        raise InvalidInput(f"'{name}' is not a server that you added", f"yours: {', '.join(entries) or 'none'}")
    del entries[name]
    _write(entries)


def _write(entries: dict[str, CatalogueEntry]) -> None:
    write_whole(PROJECT.own_servers, msgspec.json.format(msgspec.json.encode(entries)))


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
        names = names_in(file)
    except CommandFailed:
        names = set()
    program, share = _program_and_share(file, ["bin"], names.__contains__)
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
    program, share = _program_and_share(folder, _PROGRAM_FOLDERS, lambda path: (folder / path).is_file())
    return CatalogueEntry(
        family="mysql",
        version=_NOT_READ_YET,
        program=str(folder / program).removeprefix("/"),
        share=str(folder / share).removeprefix("/"),
        source=FolderSource(path=str(folder)),
    )


def _program_and_share(server: Path, folders: Sequence[str], has: Callable[[str], bool]) -> tuple[str, str]:
    """Return the paths of the program, in one of `folders`, and of the share folder in a server's folder or tarball.

    Raises `InvalidInput` if it has no such files.
    """
    programs = [f"{folder}/{name}" for folder in folders for name in _PROGRAMS]
    program = next(filter(has, programs), None)
    share = next((folder for folder in _SHARE_FOLDERS if has(f"{folder}/{_MESSAGES}")), None)
    if program is None or share is None:
        raise InvalidInput(
            f"{server} holds no server", "it needs bin/mysqld or bin/mariadbd, and share/english/errmsg.sys"
        )
    return program, share
