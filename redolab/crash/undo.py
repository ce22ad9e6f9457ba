"""The files of a data directory that hold undo."""

from __future__ import annotations

from pathlib import Path

_UNDO_FILES = ("ibdata*", "undo[0-9][0-9][0-9]", "undo_[0-9][0-9][0-9]")


def undo_bytes(data: Path) -> int:
    """Return the bytes of the files that hold undo in a data directory.

    These are `ibdata1`, and undo tablespaces by the names of all versions.
    """
    return sum(path.stat().st_size for pattern in _UNDO_FILES for path in data.glob(pattern))
