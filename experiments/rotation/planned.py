"""A plan of rotations, as data: instances, and the rotations of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
from typing_extensions import override

from redolab.runs.plan import Plan, PlannedGroup, PlannedStep
from redolab.storage.profiles import StorageProfile
from redolab.units import format_size

from .methods import Method


class PlannedInstance(PlannedGroup, frozen=True, kw_only=True):
    """An instance on a disk of its own."""

    server: str
    storage: str
    file_system: str


class PlannedRotation(PlannedStep, frozen=True, kw_only=True):
    """A rotation under load, with a stretch without one before it."""

    method: Method
    held: bool
    log_file: int
    """Bytes."""
    load_s: int
    """Seconds that the load takes."""

    @override
    def described(self) -> Mapping[str, str]:
        held = "on" if self.held else "off"
        return {"method": str(self.method), "held": held, "log": format_size(self.log_file)}

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """The load and the growing of the log take what they take, whatever the method."""
        alike = f"rotation of {format_size(self.log_file)} in {self.load_s} s"
        return [f"{alike} on {group[0]}", alike]


class RotationConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the whole run; times in seconds."""

    clients: int
    rate: int
    """Statements a second."""
    seconds: int
    """Of each stretch."""
    warm_up: int
    tables: int
    storages: Mapping[str, StorageProfile]
    check_disks: bool


RotationPlan: TypeAlias = Plan[PlannedInstance, PlannedRotation, RotationConditions]
