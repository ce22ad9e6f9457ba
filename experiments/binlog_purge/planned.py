"""A plan of removals, as data: an instance on a storage with a file system, and the removals on it."""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from typing_extensions import override

from redolab.runs.plan import Plan, PlannedGroup, PlannedStep
from redolab.units import format_size

from .trial import Removal


class PlannedInstance(PlannedGroup, frozen=True, kw_only=True):
    """An instance that binary logs are removed from."""

    server: str
    storage: str
    file_system: str


class PlannedRemoval(PlannedStep, frozen=True, kw_only=True):
    """One removal; sizes in bytes."""

    removal: Removal
    file_size: int

    @override
    def described(self) -> dict[str, str]:
        return {"removal": str(self.removal), "file size": format_size(self.file_size)}


class PurgeConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the whole run; sizes in bytes, times in seconds."""

    purged: int
    rate: float
    clients: int
    seconds: float
    cached: bool


PurgePlan: TypeAlias = Plan[PlannedInstance, PlannedRemoval, PurgeConditions]
