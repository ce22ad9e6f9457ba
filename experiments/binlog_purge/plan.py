"""The plan: instances one after the other in a drawn order, the removals on each in a drawn order."""

from __future__ import annotations

import itertools

from redolab.lab import Lab
from redolab.runs.plan import draw_plan
from redolab.storage.attaching import check_possible

from .factors import Factors
from .planned import PlannedInstance, PlannedRemoval, PurgeConditions, PurgePlan


def plan(factors: Factors, lab: Lab) -> PurgePlan:
    """The plan: what is compared within a storage and a file system is done on the same instance. Raises `LabError`."""
    factors.check()
    check_possible(factors.profiles())
    removals = [
        PlannedRemoval(removal=removal, file_size=size)
        for removal, size in itertools.product(factors.removal, factors.file_size)
    ]
    groups = [
        (PlannedInstance(server=server, storage=storage, file_system=file_system), removals)
        for server, storage, file_system in itertools.product(factors.server, factors.storage, factors.file_system)
    ]
    conditions = PurgeConditions(
        purged=factors.purged,
        rate=factors.rate,
        clients=factors.clients,
        seconds=factors.seconds,
        cached=factors.cached,
    )
    return draw_plan([groups], repeat=factors.repeat, seed=factors.drawn_seed(), conditions=conditions, keep=False)
