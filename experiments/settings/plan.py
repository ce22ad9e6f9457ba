"""The plan: blocks, in each every level once and the baselines, in an order drawn at random."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from redolab.crashes.bench import CrashConditions, PlannedCrash, PlannedRecovery
from redolab.crashes.planning import check_memory, crash_spec
from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.runs.plan import Plan, draw_plan
from redolab.servers.dialects import Dialect
from redolab.servers.install import InstalledServer
from redolab.storage.attaching import check_possible
from redolab.workloads.known import workload_catalogue

from .changes import BASELINE, Change, Skipped, changes, explicit, skipped
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

    def alike(self) -> Sequence[str]:
        """See `PlannedGroup`."""
        loaded = f"{self.spec.workload} for {self.spec.kill.after:g} s on {self.spec.storage}"
        return [f"{loaded}, {self.spec.dataset.server}", loaded]


_BASELINES = 2

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
    if not groups:
        reasons = "; ".join(each.why for name in factors.server for each in _skipped(factors, lab, name))
        raise InvalidInput("no setting is left to be changed", reasons)
    conditions = CrashConditions(storages=factors.profiles(), new_crash=True, check_disks=factors.check_disks)
    return draw_plan(groups, repeat=1, seed=seed, conditions=conditions, keep=factors.keep)


def _skipped(factors: Factors, lab: Lab, name: str) -> list[Skipped]:
    return skipped(factors.varied(), lab.server(name).dialect)


def _levels(factors: Factors, number: int, dialect: Dialect) -> list[Change]:
    """Every level of every setting, and the baselines of the loads that they need."""
    baselines = factors.baselines(number)
    wanted = changes(factors.varied(), baselines, dialect)
    loads = {change.load.workload for change in wanted}
    needed = [each for each in explicit(baselines, dialect).all() if each.workload in loads]
    # Every level is compared with it: it is measured twice in each block.
    return [*(Change(BASELINE, BASELINE, BASELINE, each) for each in needed * _BASELINES), *wanted]


def _planned(server: InstalledServer, change: Change, storage: str) -> tuple[PlannedChange, list[PlannedRecovery]]:
    spec = crash_spec(server, change.load)
    group = PlannedChange(
        server=server.name, spec=spec, setting=change.setting, baseline=change.baseline, level=change.level
    )
    settings = "+".join(f"{each.name}={each.value}" for each in change.load.overrides)
    return group, [PlannedRecovery(storage=storage, pool=spec.instance.buffer_pool, settings=settings)]
