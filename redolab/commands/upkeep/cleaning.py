"""Removal of everything that the lab made for its own use on this machine, and the list of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from redolab.disks.attaching import DISKS
from redolab.errors import InvalidInput
from redolab.lab import open_lab
from redolab.machine import files, mounts
from redolab.machine.lab_folder import (
    JOURNAL,
    LAB_FOLDERS,
    LOST_AND_FOUND,
    MARK,
    REMOVING,
    check_lab_folder,
)
from redolab.machine.lock import LOCK
from redolab.progress import Progress
from redolab.project import LOCAL, PROJECT
from redolab.runs.store import RunStore
from redolab.units import format_size

_NAMED: Mapping[str, Sequence[str]] = {
    "servers": ["servers"],
    "datasets": [f"{LOCAL}/datasets"],
    "crash images": [f"{LOCAL}/images"],
    "tools": ["tools", "tools.apt", "tools.partial"],
    "the virtual machine and its box": ["vagrant"],
    "what is packed for other machines": ["machines"],
    "what a cluster's worker keeps": ["cluster"],
}
"""Kind in words → its paths in the lab's folder."""
_OTHER = "what runs left behind"
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Removable:
    """One kind of things to remove."""

    what: str
    names: Sequence[str]
    size: int
    """Bytes on disk."""

    def __str__(self) -> str:
        more = f" and {len(self.names) - _SHOWN} more" if len(self.names) > _SHOWN else ""
        return f"{self.what}: {format_size(self.size)} ({', '.join(self.names[:_SHOWN])}{more})"


def removable() -> list[Removable]:
    """Return the things that `clean` would remove, without empty folders. Raises `InvalidInput` for another folder."""
    check_lab_folder(PROJECT.lab)
    known = {PROJECT.lab / path for paths in _NAMED.values() for path in paths}
    found = [_kind(what, [PROJECT.lab / path for path in paths]) for what, paths in _NAMED.items()]
    other = [path for path in _in_storage() if path not in known]
    return [each for each in (*found, _kind(_OTHER, other)) if each.names]


def clean(progress: Progress) -> str:
    """Remove everything that the lab made for its own use. Return a sentence on it. Raises `LabError`."""
    folder = PROJECT.lab
    if not set(files.names(folder)) - {LOST_AND_FOUND}:
        return f"there is nothing of the lab's in {folder}"
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        # Remove by name: other things may be in the folder as well.
        ours = [folder / name for name in LAB_FOLDERS]
        _check_nothing_mounted(ours)
        size = sum(files.folder_size(each) for each in ours if each.exists())
        kept_to_the_end = (folder / JOURNAL, folder / LOCK)
        for each in ours:
            if each not in kept_to_the_end and each.exists():
                # Move it away first: an interrupted removal leaves nothing that looks whole.
                going = each.with_name(f"{each.name}{REMOVING}")
                with lab.journal.making(going, f"what was being removed of {each}"):
                    files.move(each, going)
        for each in kept_to_the_end:
            files.remove(each)
        _remove_if_empty(folder / "storage")
        stays = set(files.names(folder)) - {MARK, LOST_AND_FOUND}
        if not stays:
            # While it holds other things, keep the mark: the lab may be given the folder again.
            files.remove(folder / MARK)
            _remove_if_empty(folder)
    kept = f"; what else is in the folder stays ({', '.join(sorted(stays))})" if stays else ""
    return f"removed {format_size(size)} that the lab had in {folder}{kept}; runs stay in {PROJECT.runs}"


def _kind(what: str, folders: Sequence[Path]) -> Removable:
    names = [name for folder in folders for name in files.names(folder)]
    return Removable(what, names, sum(files.folder_size(folder) for folder in folders if folder.exists()))


def _in_storage() -> Iterator[Path]:
    yield from (PROJECT.lab / DISKS, *(PROJECT.lab / LOCAL / name for name in files.names(PROJECT.lab / LOCAL)))
    for name in LAB_FOLDERS:
        yield PROJECT.lab / f"{name}{REMOVING}"


def _check_nothing_mounted(folders: Sequence[Path]) -> None:
    """Refuse folders in which somebody has mounted something, which the removal would delete from.

    Raises `InvalidInput`.

    The lab's own mounts are gone by now.
    """
    if found := [place for folder in folders for place in mounts.mounted_in(folder)]:
        raise InvalidInput(f"{found[0]} is mounted in the lab's folder, and not by the lab", "unmount it first")


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not files.names(folder) and not folder.is_mount():
        files.remove(folder)
