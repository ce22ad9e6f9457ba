"""Committed runs of the project, for notebooks, models and tests."""

from __future__ import annotations

import lzma
import re
import shutil
from pathlib import Path

from redolab.errors import InvalidInput, LabError
from redolab.project import PROJECT
from redolab.runs.factors import one_of
from redolab.runs.packing import pack_folders
from redolab.runs.schema import RunState
from redolab.runs.store import Run

NOTEBOOKS = PROJECT.root / "notebooks"
LARGEST_FILE = 1_000_000
"""Bytes of the largest committed file; for a file of a run's packed folders, its compressed size."""
_MADE_AGAIN = ("plots", "table.*", "all-tables.*", "disks.*", "calibration.json")
"""Files of a run that `redolab report` makes again."""
_UNREAD = "fill.log"
"""File of a crash with the server's log until then. Notebooks, models and `follow` do not need it."""
_LAB_FOLDER = re.compile(rb"(?<![\w.~-])(?:/[^/\s\"':=,;]+)*/\.lab\b")
"""Absolute path of the lab of any clone: the run may have been made in another one than keeps it."""
_CRASHES = "crashes"
_CUT = "cut.json"
"""File of a kept power cut; the disk and its requests can be made again from the seed."""


def measured_runs(name: str) -> list[Run]:
    """Return the runs in a folder under data/measured, oldest first. Raises `LabError` if there are none."""
    runs = [Run(path.parent) for path in sorted((PROJECT.measured / name).glob("*/run.json"))]
    if not runs:
        raise LabError(f"no run is kept in data/measured/{name}", f"'redolab keep {name} RUN' keeps one")
    return runs


def keep_run(folder: str, run: Run) -> Path:
    """Copy a run to the committed ones, without files that can be made again, are never read, or are too large.

    `folder`: one under data/measured, or the name of a notebook. The run's folders are packed into one file. A path
    in the lab is kept relative to the folder that the lab lies in, as `.lab/servers`. Raises `LabError`.
    """
    if not PROJECT.is_clone:
        raise InvalidInput("data/measured is part of a clone", "there is none here: redolab is installed")
    known = sorted(
        {path.name for path in PROJECT.measured.glob("*/")} | {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    )
    one_of("folder of data/measured", lambda: known)(folder)
    if run.record().state is RunState.RUNNING:
        raise InvalidInput(f"the run {run.name} is not over", "wait for its end")
    kept = PROJECT.measured / folder / run.name
    if kept.exists():
        shutil.rmtree(kept)
    shutil.copytree(run.folder, kept, ignore=_left_out)
    for path in sorted(kept.rglob("*")):
        if path.is_file():
            path.write_bytes(_with_relative_lab(path.read_bytes()))
    pack_folders(kept)
    return kept


def too_large(run: Run) -> list[Path]:
    """Return the files of a run that `keep_run` leaves out for their size, relative to the run's folder."""
    return [
        path.relative_to(run.folder)
        for path in sorted(run.folder.rglob("*"))
        if not _is_in_cut(path) and not _is_unread(path) and _is_too_large(path)
    ]


def _with_relative_lab(content: bytes) -> bytes:
    return _LAB_FOLDER.sub(b".lab", content.replace(str(PROJECT.lab).encode(), b".lab"))


def _left_out(folder: str, names: list[str]) -> set[str]:
    if _CUT in names:
        return set(names) - {_CUT}
    made = shutil.ignore_patterns(*_MADE_AGAIN)(folder, names)
    paths = [Path(folder) / name for name in names]
    return made | {path.name for path in paths if _is_too_large(path) or _is_unread(path)}


def _is_unread(path: Path) -> bool:
    return path.parent.parent.name == _CRASHES and path.name == _UNREAD


def _is_in_cut(path: Path) -> bool:
    return any((folder / _CUT).is_file() for folder in path.parents[:2])


def _is_too_large(path: Path) -> bool:
    if not path.is_file() or path.stat().st_size <= LARGEST_FILE:
        return False
    return len(lzma.compress(path.read_bytes())) > LARGEST_FILE
