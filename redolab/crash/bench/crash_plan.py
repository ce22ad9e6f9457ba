"""Crashes and recoveries as groups and steps of a plan, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
from typing_extensions import override

from redolab.crash.records.crash import KILL, CrashSpec
from redolab.disks.profiles import StorageProfile
from redolab.errorlog.watch import STUCK_AFTER
from redolab.runs.plan import Plan, PlannedGroup, PlannedStep
from redolab.units import format_duration, format_size


class PlannedCrash(PlannedGroup, frozen=True, kw_only=True):
    """A crash image to make or find, and the server that recovers it."""

    server: str
    spec: CrashSpec
    image: str | None = None
    """Name of the only image to use; None for any made to this spec."""

    @override
    def described(self) -> Mapping[str, str]:
        lasts, spec = self._lasts(), self.spec
        load = f"{lasts}, {spec.storage}" if lasts else ""
        if spec.kill.moment is not None:
            # One run may crash several loads at random times.
            load = f"{spec.workload}, {spec.storage}"
        cells = {
            "server": self.server,
            "log": format_size(spec.instance.log_size),
            "dataset": format_size(spec.dataset.size),
            "load": load,
            "filled to": spec.kill.filled_to(),
            "binary log": str(spec.binary_log_end or ""),
            "kind": spec.crash if spec.crash != KILL else "",
            "crash": str(spec.number) if spec.number > 1 else "",
        }
        return {name: text for name, text in cells.items() if text}

    @override
    def cost_keys(self) -> Sequence[str]:
        log = f"log {format_size(self.spec.instance.log_size)}"
        if lasts := self._lasts():
            loaded = f"load {lasts} on {self.spec.storage}"
            return [f"{loaded}, {self.spec.dataset.server}, {log}", f"{loaded}, {log}"]
        return [f"crash of {self.spec.dataset.server}, {log}", f"crash, {log}"]

    def _lasts(self) -> str:
        """Return the duration of the load in words: `until steady` or `8 min 0 s`; empty if an age or drawn time ends
        it.
        """
        kill = self.spec.kill
        if kill.steady is not None:
            return "until steady"
        return "" if kill.after is None or not kill.wants_no_age else format_duration(kill.after)


class PlannedRecovery(PlannedStep, frozen=True, kw_only=True):
    """One recovery of a crash's image on a storage, with a buffer pool in bytes."""

    storage: str
    pool: int
    settings: str = ""
    """Settings beyond the lab's own (`redolab.servers.extra_settings`)."""

    @override
    def described(self) -> Mapping[str, str]:
        settings = {"settings": self.settings} if self.settings else {}
        return {"storage": self.storage, "pool": format_size(self.pool), **settings}

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """Return keys with the same storage and log, first those with the same server and pool."""
        of_server, of_log = group
        on = f"recovery on {self.storage} after"
        return [f"{on} {of_server}, pool {format_size(self.pool)}", f"{on} {of_server}", f"{on} {of_log}"]


class CrashConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of a whole run of crashes and recoveries."""

    storages: Mapping[str, StorageProfile]
    """Storage profiles by name, when the plan was made."""
    sample_every: float = 1.0
    """Seconds between two samples under load."""
    new_crash: bool = False
    """True to crash anew even if an image of the same spec exists."""
    check_disks: bool = True
    """True if fio measures every storage first."""
    stuck_after: float = STUCK_AFTER
    """Seconds without progress after which a recovery counts as stuck."""
    warm_for: float = 0.0
    """Most seconds for which the workload's clients are followed after each recovery; 0: they are not started."""
    looked_at: bool = False
    """True if each recovering server is probed as `redolab follow` does."""


CrashPlan: TypeAlias = Plan[PlannedCrash, PlannedRecovery, CrashConditions]
