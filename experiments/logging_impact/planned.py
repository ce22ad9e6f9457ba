"""A plan of loads under query logs, as data: an instance for what a start sets, and the logs to measure on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
from typing_extensions import override

from redolab.runs.plan import Plan, PlannedGroup, PlannedStep
from redolab.units import format_size

from .trial import LoggingCell


class PlannedInstance(PlannedGroup, frozen=True, kw_only=True):
    """An instance on a fresh copy of the tables."""

    cell: LoggingCell
    started_for: str
    """The name of a log that takes the same settings at its start."""
    block: int

    @override
    def described(self) -> dict[str, str]:
        return {
            "server": self.cell.server,
            "clients": str(self.cell.connections),
            "pool": format_size(self.cell.pool),
            "started for": self.started_for,
        }


class PlannedLog(PlannedStep, frozen=True, kw_only=True):
    """A stretch of load under one log."""

    log: str

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """Whatever is logged, a stretch is as long."""
        return [f"a stretch under {self.log} on {group[0]}", f"a stretch on {group[0]}", "a stretch"]


class LoggingConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the whole run; sizes in bytes, times in seconds."""

    warehouses: int
    log_size: int
    seconds: float
    settling: float
    warm_up: float


LoggingPlan: TypeAlias = Plan[PlannedInstance, PlannedLog, LoggingConditions]
