"""Plan: blocks, each with every level of every server once and the baselines, in an order drawn at random."""

from __future__ import annotations

from redolab.bench.checks import check_memory
from redolab.crashes.wanted import crash_spec
from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.records.plan import CrashConditions, PlannedRecovery
from redolab.runs.plan import draw_in_blocks
from redolab.servers.dialects import Dialect
from redolab.servers.install import InstalledServer
from redolab.storage.attaching import check_possible
from redolab.workloads.catalogue import workload_catalogue

from .changes import BASELINE, Change, Skipped, changes, explicit, skipped
from .factors import Factors
from .planned import PlannedChange, SettingsPlan

_BASELINES = 2


def plan(factors: Factors, lab: Lab) -> SettingsPlan:
    """Return the plan: a block for each repeat, with all levels of all servers. Raises `LabError`."""
    factors.check()
    check_possible(factors.profiles())
    check_memory(factors.baselines(1).all(), [])
    blocks: list[list[tuple[PlannedChange, list[PlannedRecovery]]]] = []
    servers = [lab.server(name) for name in factors.server]
    for number in range(1, factors.repeat + 1):
        levels = [(server, change) for server in servers for change in _levels(factors, number, server.dialect)]
        blocks.append([_planned(server, change, factors.storage) for server, change in levels])
    for workload in {group.spec.workload for block in blocks for group, _ in block}:
        workload_catalogue().get(workload).require(lab)
    if not any(blocks):
        reasons = "; ".join(each.why for name in factors.server for each in _skipped(factors, lab, name))
        raise InvalidInput("no setting is left to be changed", reasons)
    conditions = CrashConditions(storages=factors.profiles(), new_crash=True, check_disks=factors.check_disks)
    return draw_in_blocks(blocks, repeat=1, seed=factors.drawn_seed(), conditions=conditions, keep=factors.keep)


def _skipped(factors: Factors, lab: Lab, name: str) -> list[Skipped]:
    return skipped(factors.varied(), lab.server(name).dialect)


def _levels(factors: Factors, number: int, dialect: Dialect) -> list[Change]:
    """Return every level of every setting, and the baselines of the loads that they need."""
    baselines = factors.baselines(number)
    wanted = changes(factors.varied(), baselines, dialect)
    loads = {change.load.workload for change in wanted}
    needed = [each for each in explicit(baselines, dialect).all() if each.workload in loads]
    # Every level is compared with the baseline, so each block measures it twice.
    return [*(Change(BASELINE, BASELINE, BASELINE, each) for each in needed * _BASELINES), *wanted]


def _planned(server: InstalledServer, change: Change, storage: str) -> tuple[PlannedChange, list[PlannedRecovery]]:
    spec = crash_spec(server, change.load)
    group = PlannedChange(
        server=server.name, spec=spec, setting=change.setting, baseline=change.baseline, level=change.level
    )
    settings = "+".join(f"{each.name}={each.value}" for each in change.load.overrides)
    return group, [PlannedRecovery(storage=storage, pool=spec.instance.buffer_pool, settings=settings)]
