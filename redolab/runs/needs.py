"""Memory and disk space that a plan needs of a machine, in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Needs:
    """Most bytes that a plan needs: of memory, and of the file systems of folders."""

    memory: int = 0
    memory_for: str = ""
    """Description of the memory's use; empty for a buffer pool of that size."""
    disk: Mapping[Path, int] = field(default_factory=dict)
    disk_for: Mapping[Path, str] = field(default_factory=dict)
    """Folder → description of the space's use."""
    remedy: str = "choose less"
    """Advice on asking for less."""
    remarks: tuple[str, ...] = ()
    """Sentences for the user to read before the plan starts."""
