"""The plan: recordings of each cell, and of each recording states, some sampled and some searched."""

from __future__ import annotations

from redolab.lab import Lab
from redolab.runs.plan import Order, draw_plan

from .factors import Factors
from .planned import DurabilityConditions, DurabilityPlan, PlannedCuts, PlannedRecording

_BATCH = 10
"""Cuts of a step: what is lost at most of one that is interrupted."""


def plan(factors: Factors, lab: Lab) -> DurabilityPlan:
    """The plan, one recording after the other: each is gone when its states have been recovered. Raises `LabError`."""
    factors.check()
    groups = [
        (PlannedRecording(cell=cell, number=number), _cuts(factors))
        for cell in factors.cells()
        for number in range(1, factors.recordings + 1)
    ]
    conditions = DurabilityConditions(
        seconds=factors.seconds,
        clients=factors.clients,
        log_size=factors.log_size,
        pool=factors.pool,
        jobs=factors.jobs,
    )
    return draw_plan(groups, repeat=1, seed=factors.drawn_seed(), conditions=conditions, keep=False, order=Order.GIVEN)


def _cuts(factors: Factors) -> list[PlannedCuts]:
    of_recording = max(2, factors.states // factors.recordings)
    found = []
    for sampled, count in ((True, of_recording // 2), (False, of_recording - of_recording // 2)):
        batches = [_BATCH] * (count // _BATCH) + ([count % _BATCH] if count % _BATCH else [])
        found += [
            PlannedCuts(sampled=sampled, count=each, batch=number) for number, each in enumerate(batches, start=1)
        ]
    return found
