"""What changed from version to version, as CHANGELOG.md has it."""

from __future__ import annotations

import re
from pathlib import Path

from redolab.errors import LabError

_VERSION = re.compile(r"^(?=## )", re.MULTILINE)


def changes_in(file: Path) -> list[str]:
    """What changed in each version, with its head, the newest first. Raises `LabError` if the file has none."""
    try:
        text = file.read_text()
    except OSError as error:
        raise LabError(f"{file} cannot be read ({error.strerror})", "install redolab again") from error
    _, *versions = _VERSION.split(text)
    if not versions:
        raise LabError(f"{file} names no version", "install redolab again")
    return [each.rstrip() + "\n" for each in versions]
