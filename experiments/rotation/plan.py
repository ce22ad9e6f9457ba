"""The plan: block after block, in each an instance for each server, storage and file system; all in random order."""

from __future__ import annotations

from redolab.lab import Lab
from redolab.runs.plan import draw_in_blocks
from redolab.storage.attaching import check_possible

from .factors import Factors
from .planned import PlannedInstance, PlannedRotation, RotationConditions, RotationPlan

TAIL = 2
"""Seconds of the load after the last stretch: what was late is still answered."""


def plan(factors: Factors, lab: Lab) -> RotationPlan:
    """Return the plan: each block has every cell once, so that what drifts on the machine meets all. Raises `InvalidInput`."""
    factors.check()
    check_possible(factors.profiles())
    groups: dict[PlannedInstance, list[PlannedRotation]] = {}
    for cell in factors.cells():
        instance = PlannedInstance(server=cell.server, storage=cell.storage, file_system=cell.file_system)
        rotation = PlannedRotation(
            method=cell.method,
            held=cell.held,
            log_file=cell.log_file,
            load_s=factors.warm_up + 2 * factors.seconds + TAIL,
        )
        groups.setdefault(instance, []).append(rotation)
    conditions = RotationConditions(
        clients=factors.clients,
        rate=factors.rate,
        seconds=factors.seconds,
        warm_up=factors.warm_up,
        tables=factors.tables,
        storages=factors.profiles(),
        check_disks=factors.check_disks,
    )
    blocks = [list(groups.items())] * factors.repeat
    return draw_in_blocks(blocks, repeat=1, seed=factors.drawn_seed(), conditions=conditions, keep=False)
