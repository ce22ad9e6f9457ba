"""Crashes and recoveries as groups and steps of a plan, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
from typing_extensions import override

from redolab.records.crash import KILL, CrashSpec
from redolab.records.recovery import STUCK_AFTER
from redolab.runs.plan import Plan, PlannedGroup, PlannedStep
from redolab.storage.profiles import StorageProfile
from redolab.units import format_duration, format_size


class PlannedCrash(PlannedGroup, frozen=True, kw_only=True):
    """A crash image that is wanted, and the server that recovers it."""

    server: str
    spec: CrashSpec
    image: str | None = None
    """The one image that is meant; otherwise any made to this spec."""

    @override
    def described(self) -> Mapping[str, str]:
        number = {"crash": str(self.spec.number)} if self.spec.number > 1 else {}
        kind = {"kind": self.spec.crash} if self.spec.crash != KILL else {}
        filled_to = self.spec.kill.filled_to()
        return {
            "server": self.server,
            "log": format_size(self.spec.instance.log_size),
            "dataset": format_size(self.spec.dataset.size),
            **({"load": f"{lasts}, {self.spec.storage}"} if (lasts := self._lasts()) else {}),
            **({"filled to": filled_to} if filled_to else {}),
            **kind,
            **number,
        }

    @override
    def cost_keys(self) -> Sequence[str]:
        log = f"log {format_size(self.spec.instance.log_size)}"
        if lasts := self._lasts():
            loaded = f"load {lasts} on {self.spec.storage}"
            return [f"{loaded}, {self.spec.dataset.server}, {log}", f"{loaded}, {log}"]
        return [f"crash of {self.spec.dataset.server}, {log}", f"crash, {log}"]

    def _lasts(self) -> str:
        """How long it is loaded, as in `until steady` and `8 min 0 s`; empty where an age ends it, or a moment that is drawn."""
        kill = self.spec.kill
        if kill.steady is not None:
            return "until steady"
        return "" if kill.after is None or not kill.wants_no_age else format_duration(kill.after)


class PlannedRecovery(PlannedStep, frozen=True, kw_only=True):
    """One recovery of a crash's image: on what, with a buffer pool of so many bytes."""

    storage: str
    pool: int
    settings: str = ""
    """What is set beyond the lab's own settings (`redolab.servers.extra_settings`)."""

    @override
    def described(self) -> Mapping[str, str]:
        asked = {"settings": self.settings} if self.settings else {}
        return {"storage": self.storage, "pool": format_size(self.pool), **asked}

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """The same storage and log, and if possible the same server and pool."""
        of_server, of_log = group
        on = f"recovery on {self.storage} after"
        return [f"{on} {of_server}, pool {format_size(self.pool)}", f"{on} {of_server}", f"{on} {of_log}"]


class CrashConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for a whole run of crashes and recoveries."""

    storages: Mapping[str, StorageProfile]
    """The storages by name, as they were when the plan was made."""
    sample_every: float = 1.0
    """Seconds between two samples while a log is filled."""
    new_crash: bool = False
    """Crash anew even if an image made to the same spec is kept."""
    check_disks: bool = True
    """Whether fio looks at every storage before."""
    stuck_after: float = STUCK_AFTER
    """Seconds without progress after which a recovery counts as stuck."""
    warm_for: float = 0.0
    """Seconds for which the workload's clients are followed at most after each recovery; 0: they are not started."""
    looked_at: bool = False
    """Whether each recovering server is looked at as `redolab follow` does."""


CrashPlan: TypeAlias = Plan[PlannedCrash, PlannedRecovery, CrashConditions]
