"""The plan: blocks, in each every level once and the baselines, in an order drawn at random."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TypeAlias

from redolab.crashes.bench import CrashConditions, PlannedCrash, PlannedRecovery
from redolab.crashes.planning import check_memory, crash_spec
from redolab.lab import Lab
from redolab.runs.plan import Plan, draw_plan
from redolab.servers.dialects import Dialect
from redolab.servers.install import InstalledServer
from redolab.storage.attaching import check_possible
from redolab.workloads.known import workload_catalogue

from .changes import BASELINE, Change, changes, explicit
from .factors import Factors


class PlannedChange(PlannedCrash, frozen=True, kw_only=True):
    """A load of which it is known which setting is changed in it."""

    setting: str
    baseline: str
    """Its level in the baseline."""
    level: str

    def described(self) -> Mapping[str, str]:
        """See `PlannedGroup`."""
        return {**super().described(), "load": self.spec.workload, "setting": self.setting, "level": self.level}


SettingsPlan: TypeAlias = Plan[PlannedChange, PlannedRecovery, CrashConditions]


def plan(factors: Factors, lab: Lab) -> SettingsPlan:
    """The plan: one server after the other, one block after the other. Raises `LabError`."""
    factors.check()
    check_possible(factors.profiles())
    check_memory(factors.baselines(1).all(), [])
    seed = factors.drawn_seed()
    draw = random.Random(seed)
    groups: list[tuple[PlannedChange, list[PlannedRecovery]]] = []
    for name in factors.server:
        server = lab.server(name)
        for number in range(1, factors.repeat + 1):
            block = [_planned(server, change, factors.storage) for change in _levels(factors, number, server.dialect)]
            draw.shuffle(block)
            groups += block
    for workload in {group.spec.workload for group, _ in groups}:
        workload_catalogue().get(workload).require(lab)
    conditions = CrashConditions(storages=factors.profiles(), new_crash=True, check_disks=factors.check_disks)
    return draw_plan(groups, repeat=1, seed=seed, conditions=conditions, keep=factors.keep)


def _levels(factors: Factors, number: int, dialect: Dialect) -> list[Change]:
    """Every level of every setting, and the baselines of the loads that they need."""
    baselines = factors.baselines(number)
    wanted = changes(factors.varied(), baselines, dialect)
    loads = {change.load.workload for change in wanted}
    needed = [each for each in explicit(baselines).all() if each.workload in loads]
    return [*(Change(BASELINE, BASELINE, BASELINE, each) for each in needed), *wanted]


def _planned(server: InstalledServer, change: Change, storage: str) -> tuple[PlannedChange, list[PlannedRecovery]]:
    spec = crash_spec(server, change.load)
    group = PlannedChange(
        server=server.name, spec=spec, setting=change.setting, baseline=change.baseline, level=change.level
    )
    settings = "+".join(f"{each.name}={each.value}" for each in change.load.overrides)
    return group, [PlannedRecovery(storage=storage, pool=spec.instance.buffer_pool, settings=settings)]
