"""The note of what is changed on a server: on the disk before the first change, gone when all is put back."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from redolab.errors import InvalidInput
from redolab.machine import files
from redolab.querylogs.settings.changes import Change
from redolab.servers.address import Address

_ENDING = ".json"


class ServerIdentity(msgspec.Struct, frozen=True):
    """Which server it is, and which life of it."""

    uuid: str
    """MySQL's server_uuid; of a server without one its host, port and data directory."""
    started: float
    """Seconds since 1970 by the server's clock."""


class NotedAddress(msgspec.Struct, frozen=True):
    """How the server was reached; never the password."""

    defaults_file: str | None = None
    socket: str | None = None
    host: str | None = None
    port: int | None = None
    user: str | None = None

    @classmethod
    def of(cls, address: Address) -> NotedAddress:
        """That of an address."""
        file, socket = (
            str(Path(each).absolute()) if each else None for each in (address.defaults_file, address.socket)
        )
        return cls(file, socket, address.host, address.port, address.user)

    def address(self) -> Address:
        """The address, without a password."""
        file = Path(self.defaults_file) if self.defaults_file else None
        return Address(file, self.socket, self.host, self.port, self.user)


class Note(msgspec.Struct, frozen=True):
    """What is about to be changed, and by whom."""

    purpose: str
    identity: ServerIdentity
    address: NotedAddress
    changes: tuple[Change, ...]
    """In the order in which they are made."""
    pid: int
    guardian: int
    """Process ids of the command and of the process that puts back if the command cannot."""
    connection: int | None
    """The command's connection, by the server's number."""
    event: str | None = None
    """The event on the server that does so as well."""


def folder() -> Path:
    """Where the notes are: outside the lab's folder, as `redolab clean` must not take them."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(base) / "redolab" / "slowlog"


def new_path(purpose: str, stamp: str) -> Path:
    """Where the note of a command goes that began at `stamp`."""
    return folder() / f"{purpose}-{stamp}-{os.getpid()}{_ENDING}"


def write(path: Path, note: Note) -> None:
    """Put it on the disk, whole."""
    files.make_folder(path.parent, mode=0o700)
    files.write_whole(path, msgspec.json.format(msgspec.json.encode(note), indent=1) + b"\n")


def read(path: Path) -> Note:
    """The note in a file. Raises `InvalidInput`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Note)
    except FileNotFoundError:
        raise InvalidInput(f"there is no note {path}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is no note of slowlog ({error})", "name a file that slowlog has written") from None


def remove(path: Path) -> None:
    """All is put back."""
    path.unlink(missing_ok=True)


def all_notes() -> list[Path]:
    """Those of changes that were not put back, or not yet: the newest first, as each was made on top of those before it."""
    return sorted(folder().glob(f"*{_ENDING}"), key=lambda path: path.stem.partition("-")[2], reverse=True)
