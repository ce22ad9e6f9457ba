"""Whether this machine has the memory and the room on its disks that a plan wants: the one place where that is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from redolab.errors import DiskFull, InvalidInput
from redolab.machine import files
from redolab.machine.description import total_memory
from redolab.units import GIB, format_size

LEFT_FOR_THE_SYSTEM = 1 * GIB
_LESS_MEMORY = "choose a smaller POOL, DATASET or LOGSIZE"
_LESS_DISK = "choose a smaller LOGSIZE or DATASET, remove crash images ('redolab images'), or KEEP=off to keep none"


@dataclass(frozen=True, slots=True)
class Needs:
    """What something takes at most, in bytes: of memory, and of the file systems on which folders lie."""

    memory: int = 0
    disk: Mapping[Path, int] = field(default_factory=dict)
    why: Mapping[Path, str] = field(default_factory=dict)
    """Folder → what takes the room there, in words."""

    @property
    def largest(self) -> int:
        """Bytes on the folder that takes most."""
        return max(self.disk.values(), default=0)


def check_room(needs: Needs) -> None:
    """Refuse what this machine has no memory (`InvalidInput`) or no room (`DiskFull`) for."""
    memory = total_memory()
    if needs.memory and needs.memory + LEFT_FOR_THE_SYSTEM > memory:
        raise InvalidInput(
            f"{format_size(needs.memory)} for the server does not fit into this machine's {format_size(memory)} of memory",
            _LESS_MEMORY,
        )
    for folder, needed in needs.disk.items():
        free = files.free_space(folder)
        if needed > free:
            raise DiskFull(
                f"{needs.why.get(folder, 'the run')} needs about {format_size(needed)} and the disk under {folder} has "
                f"{format_size(free)} free",
                _LESS_DISK,
            )
