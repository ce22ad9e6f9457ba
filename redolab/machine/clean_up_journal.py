"""Journal of everything that the lab must undo.

The lab writes an entry before it makes the thing, and removes the entry when the thing is undone. Entries that remain
when no lab is running belong to a lab that was killed; the next command names and removes the things.

The lab removes nothing outside the folder of the journal, nor what a link out of that folder reaches: a journal may
have been copied, or written by somebody else.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import msgspec
import xxhash

from redolab.errors import InvalidInput, LabError, StorageLost
from redolab.machine import files, mounts

OURS_ELSEWHERE = ".redolab-storage"
"""Name of the lab's folder within a folder of the user's. Everything in it is the lab's."""
_GONE = (errno.EIO, errno.ENOTCONN, errno.ESHUTDOWN)
_NOTE = re.compile(r"[0-9a-f]{16}(-using)?\.json")
_UNFINISHED_NOTE = re.compile(rf"\.{_NOTE.pattern}\.\d+")
"""Name of an entry's file that `files.write_whole` leaves behind when it is killed."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that is being made or is only there for a while."""

    path: str
    what: str
    mounted: bool = False
    """A file system is mounted somewhere in it."""
    only_empty: bool = False
    """True if the folder lies among the user's: only empty folders in it are removed."""
    on: str = ""
    """Mount point of the file system that holds the user's folder; empty if the folder is in the lab's."""


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
        """Remove the temporary `path` before the block, and after it unless the block moved it to its final place.

        `mounted`: something will be mounted in it, and is unmounted first. Raises `InvalidInput` for a path outside
        the lab.
        """
        with self.temporary(path, what, mounted=mounted) as entry:
            _undo(entry)
            yield

    def temporary(self, path: Path, what: str, *, mounted: bool = False) -> AbstractContextManager[Entry]:
        """Remove `path`, which may exist already, after the block; if the lab is killed in it, the next command does.

        Raises as `making`.
        """
        return self._noted(Entry(path=str(path), what=what, mounted=mounted, on=_users_mount(path)))

    def using(self, path: Path, what: str) -> AbstractContextManager[Entry]:
        """Remove `path`, a folder of the lab's among the user's, after the block, unless it holds a file.

        Raises `InvalidInput` if the folder lacks the name of the lab's folders.
        """
        return self._noted(Entry(path=str(path), what=what, only_empty=True, on=_users_mount(path)))

    @contextmanager
    def _noted(self, entry: Entry) -> Iterator[Entry]:
        """Keep a note of the entry within the block, and undo the entry after it."""
        note = self._write_note(entry)
        try:
            yield entry
        finally:
            try:
                _undo(entry)
            except OSError as error:
                if error.errno not in _GONE:
                    raise
                # With the disk went all that was on it: what is left is its mount, which another entry undoes.
                raise StorageLost(f"the disk under {entry.path} is gone ({error.strerror})") from error
            finally:
                if entry.only_empty or not _exists(entry):
                    files.remove(note)

    def remove(self, folder: Path, mark: str, what: str) -> None:
        """Remove a folder whose mark, a file in it, says that it is complete.

        `what`: description of the rest if the removal breaks off. Raises `InvalidInput` for a path outside the lab.
        """
        note = self._write_note(Entry(path=str(folder), what=what))
        files.remove_marked(folder, mark)
        files.remove(note)

    def clear(self) -> list[str]:
        """Remove what a killed lab left, and return descriptions. Only the one running lab may. Raises `LabError`."""
        for name in files.names(self._folder):
            if _UNFINISHED_NOTE.fullmatch(name):
                # The lab was killed while it wrote this note, so nothing had been made yet.
                files.remove(self._folder / name)
        cleared = []
        # First what is mounted: with the lab may have died the disk on which others lie.
        for note, entry in sorted(self._entries(), key=lambda each: (not each[1].mounted, each[1].only_empty)):
            if not self._is_ours(entry) or _is_out_of_reach(entry):
                continue
            if _exists(entry):
                _undo(entry)
                cleared.append(entry.what)
            files.remove(note)
        return cleared

    def drop_foreign(self) -> list[str]:
        """Remove entries for paths outside the lab, as a moved or copied lab has. Return the paths, left alone."""
        foreign = [(note, entry.path) for note, entry in self._entries() if not self._is_ours(entry)]
        for note, _ in foreign:
            files.remove(note)
        return [path for _, path in foreign]

    def _entries(self) -> list[tuple[Path, Entry]]:
        notes = [self._folder / name for name in files.names(self._folder) if _NOTE.fullmatch(name)]
        return [(note, _read(note)) for note in notes]

    def _write_note(self, entry: Entry) -> Path:
        """Write the file of an entry, and return its path. Raises `InvalidInput` for a path outside the lab."""
        if not self._is_ours(entry):
            raise InvalidInput(
                f"{entry.path} is not in the lab's folder, or is reached only by a link out of it",
                "look at the names in your own catalogues, and at the links in the lab's folder",
            )
        name = xxhash.xxh3_64_hexdigest(entry.path.encode())
        note = self._folder / f"{name}{'-using' if entry.only_empty else ''}.json"
        files.write_whole(note, msgspec.json.encode(entry))
        return note

    def _is_ours(self, entry: Entry) -> bool:
        path = Path(entry.path)
        if not path.is_absolute() or path.name in ("", ".."):
            return False
        if entry.only_empty:
            return path.name == OURS_ELSEWHERE and not path.is_symlink()
        above = path.parent.resolve()
        return above.is_relative_to(self._folder.parent.resolve()) or OURS_ELSEWHERE in above.parts


def _undo(entry: Entry) -> None:
    path = Path(entry.path)
    if entry.only_empty:
        _remove_empty(path)
        return
    if entry.mounted and not path.is_symlink():
        mounts.unmount(path)
    files.remove(path)


def _exists(entry: Entry) -> bool:
    try:
        return Path(entry.path).exists()
    except OSError:
        return False


def _users_mount(path: Path) -> str:
    """Return the mount point of the file system that holds a folder of the user's; empty for the lab's own folder."""
    if OURS_ELSEWHERE not in path.parts:
        return ""
    folder = Path(*path.parts[: path.parts.index(OURS_ELSEWHERE)]).resolve()
    return str(next(each for each in (folder, *folder.parents) if os.path.ismount(each)))


def _is_out_of_reach(entry: Entry) -> bool:
    """Return True if the path may exist but its file system is not mounted, as after a reboot, or is broken."""
    try:
        return not Path(entry.path).exists() and bool(entry.on) and not os.path.ismount(entry.on)
    except OSError:
        return bool(entry.on)


def _read(note: Path) -> Entry:
    try:
        return msgspec.json.decode(note.read_bytes(), type=Entry)
    except msgspec.MsgspecError as error:
        raise LabError(f"the note {note} cannot be read ({error})", "see what it names, and remove it") from error
