"""The plan: recordings of each cell, and of each recording states, some sampled and some searched."""

from __future__ import annotations

from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.runs.plan import plan_as_given

from .cells import VARIATIONS
from .factors import Factors
from .planned import DurabilityConditions, DurabilityPlan, PlannedCuts, PlannedRecording
from .trial import Cuts

_BATCH = 10
"""Cuts of a step: what is lost at most of one that is interrupted."""


def plan(factors: Factors, lab: Lab) -> DurabilityPlan:
    """The plan, one recording after the other: each is gone when its states have been recovered. Raises `LabError`."""
    factors.check()
    cells = factors.cells()
    if any(VARIATIONS[cell.variation].replica and cell.sync_binlog is None for cell in cells):
        raise InvalidInput("a replica reads the binary log, which is off", "name a value of sync_binlog: BINARYLOG=1")
    groups = [
        (PlannedRecording(cell=cell, number=number), _cuts(factors))
        for cell in cells
        for number in range(1, factors.recordings + 1)
    ]
    conditions = DurabilityConditions(
        seconds=factors.seconds,
        clients=factors.clients,
        log_size=factors.log_size,
        pool=factors.pool,
        jobs=factors.jobs,
        explain=factors.explain,
        keep_cuts=factors.keep_cuts,
    )
    return plan_as_given(groups, seed=factors.drawn_seed(), conditions=conditions)


def _cuts(factors: Factors) -> list[PlannedCuts]:
    of_recording = max(2, factors.states // factors.recordings)
    found = []
    for kind, count in ((Cuts.SAMPLED, of_recording // 2), (Cuts.SEARCHED, of_recording - of_recording // 2)):
        batches = [_BATCH] * (count // _BATCH) + ([count % _BATCH] if count % _BATCH else [])
        found += [PlannedCuts(kind=kind, count=each, batch=number) for number, each in enumerate(batches, start=1)]
    return [*found, PlannedCuts(kind=Cuts.KILLED, count=1, batch=1)]
