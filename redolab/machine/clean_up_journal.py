"""What the lab has made and must undo: written down before it is made, struck out when it is undone or finished.

What still stands in the journal when no lab is running was left by one that was killed; the next command names it and takes it away.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import xxhash

from redolab.errors import LabError
from redolab.machine import files, mounts

_GONE = (errno.EIO, errno.ENOTCONN, errno.ESHUTDOWN)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that is being made or is only there for a while."""

    path: str
    what: str
    mounted: bool = False
    """A file system is mounted somewhere in it."""
    only_empty: bool = False
    """It is in a folder of the user's: only what is empty of it goes."""


def _remove_empty(folder: Path) -> None:
    """Remove the empty folders in a folder, and the folder if it is empty then."""
    for path in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
        with suppress(OSError):
            path.rmdir()
    with suppress(OSError):
        folder.rmdir()


class Journal:
    """The journal, a folder with one file an entry."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def making(self, path: Path, what: str, *, mounted: bool = False) -> Iterator[None]:
        """While in it: `path` is half-made or temporary. It is removed before, and after unless it was moved to where it belongs.

        `mounted`: something will be mounted in it, and is unmounted first.
        """
        note = self._folder / f"{xxhash.xxh3_64_hexdigest(str(path).encode())}.json"
        entry = Entry(path=str(path), what=what, mounted=mounted)
        files.write_whole(note, msgspec.json.encode(entry))
        try:
            self._take_away(entry)
            yield
        finally:
            try:
                self._take_away(entry)
            except OSError as error:
                if error.errno not in _GONE:
                    raise
                # With the disk went all that was on it: what is left is its mount, which another entry undoes.
                raise LabError(f"the disk under {path} is gone ({error.strerror})") from error
            finally:
                if not self._still_there(entry):
                    files.remove(note)

    @contextmanager
    def using(self, path: Path, what: str) -> Iterator[None]:
        """While in it: `path` is a folder of the lab's among the user's things. It goes afterwards, unless it holds a file."""
        note = self._folder / f"{xxhash.xxh3_64_hexdigest(str(path).encode())}-using.json"
        entry = Entry(path=str(path), what=what, only_empty=True)
        files.write_whole(note, msgspec.json.encode(entry))
        try:
            yield
        finally:
            try:
                self._take_away(entry)
            finally:
                files.remove(note)

    def clear(self) -> list[str]:
        """Take away what a killed lab left; what that was, in words. Only to be called by the one lab that runs."""
        entries = []
        for name in files.names(self._folder):
            if name.endswith(".json"):
                entries.append(
                    (self._folder / name, msgspec.json.decode((self._folder / name).read_bytes(), type=Entry))
                )
            else:
                # The lab was killed while it wrote this note, so nothing had been made yet.
                files.remove(self._folder / name)
        cleared = []
        # First what is mounted: with the lab may have died the disk on which others lie.
        for note, entry in sorted(entries, key=lambda each: (not each[1].mounted, each[1].only_empty)):
            if self._still_there(entry):
                self._take_away(entry)
                cleared.append(entry.what)
            files.remove(note)
        return cleared

    def _still_there(self, entry: Entry) -> bool:
        try:
            return Path(entry.path).exists()
        except OSError:
            return False

    def _take_away(self, entry: Entry) -> None:
        if entry.only_empty:
            _remove_empty(Path(entry.path))
            return
        if entry.mounted:
            mounts.unmount(Path(entry.path))
        files.remove(Path(entry.path))
