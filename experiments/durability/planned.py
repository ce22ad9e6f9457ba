"""A plan of power cuts, as data: recordings of each cell, and of each recording states, some sampled and some searched."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from typing_extensions import override

from redolab.runs.plan import Plan, PlannedGroup, PlannedStep

from .cells import Cell
from .trial import Cuts


class PlannedRecording(PlannedGroup, frozen=True, kw_only=True):
    """A load that is recorded."""

    cell: Cell
    number: int

    @override
    def described(self) -> dict[str, str]:
        return {"server": self.cell.server, "settings": self.cell.in_words, "recording": str(self.number)}


class PlannedCuts(PlannedStep, frozen=True, kw_only=True):
    """Some cuts of a recording."""

    kind: Cuts
    count: int
    batch: int

    @override
    def described(self) -> dict[str, str]:
        return {"cuts": f"{self.count} {self.kind}"}


class DurabilityConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the whole run; sizes in bytes."""

    seconds: float
    clients: int
    log_size: int
    pool: int
    jobs: int
    explain: int
    keep_cuts: bool


DurabilityPlan: TypeAlias = Plan[PlannedRecording, PlannedCuts, DurabilityConditions]
