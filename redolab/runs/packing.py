"""Packing of a committed run: its folders in one file, instead of thousands of small ones."""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from pathlib import Path

from redolab.machine import bundle, files

PACKED = "files.tar.xz"


def pack_folders(folder: Path) -> None:
    """Replace the folders of a run by one packed file; the files beside them stay."""
    files_of_run = [path.name for path in folder.iterdir() if path.is_file()]
    folders = [path for path in folder.iterdir() if path.is_dir()]
    if not folders:
        return
    files.write_whole(folder / PACKED, bundle.pack(folder, files_of_run, xz=True))
    for path in folders:
        files.remove(path)


def unpacked(folder: Path) -> Path:
    """Return the path that holds a run's folders: its own, or, if they are packed, a copy until this process ends.

    Raises `LabError` if the packed file is torn.
    """
    packed = folder / PACKED
    return _unpacked(packed, packed.stat().st_mtime_ns) if packed.exists() else folder


@cache
def _unpacked(packed: Path, _changed: int) -> Path:
    to = Path(tempfile.mkdtemp(prefix="redolab-"))
    atexit.register(files.remove, to)
    bundle.unpack(packed.read_bytes(), to, durable=False)
    return to
