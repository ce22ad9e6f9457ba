"""The lab's own folder, recognised by its mark: the lab writes, trusts and removes nothing in any other folder."""

from __future__ import annotations

import os
from pathlib import Path

from redolab.errors import InvalidInput
from redolab.machine import files
from redolab.machine.identity import MACHINE_FILE
from redolab.machine.lock import LOCK, is_lock
from redolab.project import LOCAL, PROJECT

MARK = "redolab-lab.txt"
"""File that marks a folder as the lab's."""
JOURNAL = "journal"
LAB_FOLDERS = (
    JOURNAL, "servers", LOCAL, "storage/disks", "tools", "tools.apt", "tools.partial", "machines", "cluster", "vagrant",
    MACHINE_FILE, LOCK,
)  # fmt: skip
"""Paths that the lab makes in its folder, except the mark."""
REMOVING = ".removing"
"""Suffix of the name of anything that is being removed."""
NOTE = "This folder is redolab's: servers, datasets, crash images. 'redolab clean' removes what the lab made in it.\n"
"""Text of the mark, for people who find it."""
LOST_AND_FOUND = "lost+found"
"""A folder that file systems have from the start."""
YES = "REDOLAB_YES"
"""Environment variable that has the effect of `redolab clean --yes`."""
_NAMES_SHOWN = 3


def check_lab_folder(folder: Path) -> None:
    """Raise `InvalidInput` unless a folder is the lab's, is empty, or does not exist. Changes nothing."""
    if not folder.is_dir():
        in_its_way = folder if os.path.lexists(folder) else files.there(folder)
        if not in_its_way.is_dir():
            raise InvalidInput(f"{in_its_way} is no folder", "name one by REDOLAB_LAB")
        return
    if not (_is_empty(folder) or is_marked(folder) or folder.resolve() == PROJECT.usual_lab.resolve()):
        foreign = [name for name in files.names(folder) if not _is_harmless(folder / name)]
        shown = ", ".join([*foreign[:_NAMES_SHOWN], *(["…"] if len(foreign) > _NAMES_SHOWN else [])])
        raise InvalidInput(
            f"{folder} is no folder of the lab's, and not empty ({shown})",
            f"name one for the lab alone: REDOLAB_LAB={_suggested_folder(folder)}",
        )
    _check_no_links(folder)
    if not os.access(folder, os.W_OK):
        raise InvalidInput(f"{folder} cannot be written", "look at who owns it, or name another by REDOLAB_LAB")


def claim_lab_folder(folder: Path) -> None:
    """Make a folder the lab's and mark it. Raises `InvalidInput` as `check_lab_folder` does."""
    check_lab_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not is_marked(folder):
        files.write_whole(folder / MARK, NOTE.encode())


def is_marked(folder: Path) -> bool:
    """Return True if the folder has the lab's mark."""
    return (folder / MARK).is_file() and not (folder / MARK).is_symlink()


def _is_empty(folder: Path) -> bool:
    """Return True if the folder has nothing but harmless files, as `_is_harmless` defines them."""
    return all(_is_harmless(path) for path in folder.iterdir())


def _is_harmless(path: Path) -> bool:
    """Return True for `lost+found`, a lock, a torn mark, or a path that the user chose for other files."""
    named = (PROJECT.runs, PROJECT.own_servers, PROJECT.own_storage, PROJECT.own_machines, PROJECT.own_experiments)
    return path.name == LOST_AND_FOUND or is_lock(path) or path.name.startswith(f".{MARK}.") or path in named


def _check_no_links(folder: Path) -> None:
    """Raise `InvalidInput` if one of the lab's own folders is a link: the lab would write and remove elsewhere."""
    for name in sorted({part for each in LAB_FOLDERS for part in (each, each.partition("/")[0])}):
        if (folder / name).is_symlink():
            raise InvalidInput(
                f"{folder / name} is a link, and the lab removes nothing behind one",
                "make it a folder, or name the other place for all by REDOLAB_LAB",
            )


def _suggested_folder(folder: Path) -> Path:
    """Return the path of a folder in a folder, for the lab alone."""
    suggested, number = folder / "redolab", 1
    while suggested.exists() and not (suggested.is_dir() and (is_marked(suggested) or _is_empty(suggested))):
        number += 1
        suggested = folder / f"redolab-{number}"
    return suggested
