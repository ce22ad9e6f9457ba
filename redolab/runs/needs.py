"""What a plan takes of a machine, in bytes: memory, and room on its disks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Needs:
    """What something takes at most, in bytes: of memory, and of the file systems on which folders lie."""

    memory: int = 0
    memory_for: str = ""
    """What takes the memory, in words."""
    disk: Mapping[Path, int] = field(default_factory=dict)
    disk_for: Mapping[Path, str] = field(default_factory=dict)
    """Folder → what takes the room there, in words."""
    remedy: str = "choose less"
    """What to ask for so that it takes less."""
    remarks: tuple[str, ...] = ()
    """Sentences that a person should read before the plan is started."""
