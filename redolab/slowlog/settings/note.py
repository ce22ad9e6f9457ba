"""Note of the changes on a server: on the disk before the first change, removed when everything is put back."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from redolab.errors import InvalidInput
from redolab.machine import files
from redolab.servers.address import Address
from redolab.slowlog.settings.changes import Change

_ENDING = ".json"


class ServerIdentity(msgspec.Struct, frozen=True):
    """Identity of a server and of its current run."""

    uuid: str
    """MySQL's server_uuid; without one, host, port and data directory."""
    started: float
    """Start of the server, in seconds since 1970 by its own clock."""


class Note(msgspec.Struct, frozen=True):
    """Changes that a command is about to make, and the processes involved."""

    purpose: str
    identity: ServerIdentity
    address: Address
    """Address of the server, without the password."""
    changes: tuple[Change, ...]
    """Changes in the order in which they are made."""
    pid: int
    watchdog: int
    """Process id of the watchdog; `pid` is that of the command."""
    connection: int | None
    """Number of the command's connection on the server."""
    event: str | None = None
    """Name of the event on the server that also undoes the changes; None without one."""


def folder() -> Path:
    """Return the folder of the notes: outside the lab's folder, because `redolab clean` must not remove them."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(base) / "redolab" / "slowlog"


def new_path(purpose: str, stamp: str) -> Path:
    """Return the path for the note of a command that began at `stamp`."""
    return folder() / f"{purpose}-{stamp}-{os.getpid()}{_ENDING}"


def write(path: Path, note: Note) -> None:
    """Write the note to the disk, atomically."""
    files.make_folder(path.parent, mode=0o700)
    files.write_whole(path, msgspec.json.format(msgspec.json.encode(note), indent=1) + b"\n")


def read(path: Path) -> Note:
    """Read the note in a file. Raises `InvalidInput`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Note)
    except FileNotFoundError:
        raise InvalidInput(f"there is no note {path}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} is no note of slowlog ({error})", "name a file that this version of slowlog has written"
        ) from None


def all_notes() -> list[Path]:
    """Return all notes, the newest first: each command made its changes on top of the earlier ones."""
    return sorted(folder().glob(f"*{_ENDING}"), key=lambda path: path.stem.partition("-")[2], reverse=True)
