"""Files in, a digest out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from redolab.querylogs.digest.classes import Digest


def digest(paths: Sequence[Path], *, since: datetime | None = None, until: datetime | None = None) -> Digest:
    """The classes of queries in slow query logs: one log, or a rotated set of pieces.

    `since`, `until`: only queries stamped from the one on and before the other. Raises `LabError` for a file that is
    no slow query log, and where no query is found.
    """
    raise NotImplementedError
