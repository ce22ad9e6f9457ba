"""Names of files as text that any output can hold."""

from __future__ import annotations

import os
from pathlib import Path


def as_unicode(path: Path) -> str:
    """Return a path as text. Python holds bytes that are not UTF-8 as surrogates, which no output in UTF-8 takes."""
    return os.fsencode(path).decode("utf-8", "replace")
