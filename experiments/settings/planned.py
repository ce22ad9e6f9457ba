"""Plan of loads with one changed setting each, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from typing_extensions import override

from redolab.records.plan import CrashConditions, PlannedCrash, PlannedRecovery
from redolab.runs.plan import Plan


class PlannedChange(PlannedCrash, frozen=True, kw_only=True):
    """A load with one changed setting."""

    setting: str
    baseline: str
    """Level of the setting in the baseline."""
    level: str

    @override
    def described(self) -> Mapping[str, str]:
        return {**super().described(), "load": self.spec.workload, "setting": self.setting, "level": self.level}

    @override
    def cost_keys(self) -> Sequence[str]:
        loaded = f"{self.spec.workload} for {self.spec.kill.after:g} s on {self.spec.storage}"
        return [f"{loaded}, {self.spec.dataset.server}", loaded]


SettingsPlan: TypeAlias = Plan[PlannedChange, PlannedRecovery, CrashConditions]
