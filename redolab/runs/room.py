"""Check of this machine's memory and disk space against a plan's needs; the only place that refuses a plan for them."""

from __future__ import annotations

from redolab.errors import DiskFull, InvalidInput
from redolab.grouping import by_key
from redolab.machine import files
from redolab.machine.description import free_memory, total_memory
from redolab.machine.neighbours import neighbours
from redolab.runs.needs import Needs
from redolab.units import GIB, format_size

LEFT_FOR_THE_SYSTEM = 1 * GIB
LEFT_FOR_OTHERS = 4 * GIB
"""Bytes of a disk to leave free for a database server that is not the lab's."""


def check_room(needs: Needs) -> None:
    """Refuse a plan for lack of memory (`InvalidInput`) or disk space (`DiskFull`).

    Call this before the lab has started a server: any that runs is another's, and keeps its memory.
    """
    others = bool(neighbours())
    memory = free_memory() if others else total_memory()
    if needs.memory and needs.memory + LEFT_FOR_THE_SYSTEM > memory:
        what = needs.memory_for or f"a buffer pool of {format_size(needs.memory)}"
        has = "that other servers leave" if others else "of memory"
        raise InvalidInput(f"{what} does not fit into this machine's {format_size(memory)} {has}", needs.remedy)
    reserve = LEFT_FOR_OTHERS if others else 0
    for folders in by_key(needs.disk, files.file_system).values():
        needed, free = sum(needs.disk[folder] for folder in folders), files.free_space(folders[0])
        if needed + reserve > free:
            what = " and ".join(needs.disk_for.get(folder, "the run") for folder in folders)
            verb = "need" if len(folders) > 1 else "needs"
            kept = f", of which {format_size(reserve)} are for the server that is not the lab's" if reserve else ""
            raise DiskFull(
                f"{what} {verb} about {format_size(needed)} and the disk under {folders[0]} has {format_size(free)} free{kept}",
                needs.remedy,
            )
