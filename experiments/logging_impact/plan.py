"""The plan: block after block, in each an instance for every set of start settings, and on it its logs in a random order."""

from __future__ import annotations

from redolab.lab import Lab
from redolab.runs.plan import draw_in_blocks
from redolab.servers.dialects import Setting
from redolab.workloads.catalogue import workload_catalogue

from .factors import TPCC, Factors
from .logs import LOGS, started_with
from .planned import LoggingConditions, LoggingPlan, PlannedInstance, PlannedLog
from .trial import LoggingCell


def plan(factors: Factors, lab: Lab) -> LoggingPlan:
    """Return the plan: in a block all logs of every cell. Raises `LabError`."""
    factors.check()
    workload_catalogue().get(TPCC).require(lab)
    for cell in factors.cells():
        lab.server(cell.server)
    blocks = [
        [group for cell in factors.cells() for group in _groups(factors, cell, number)]
        for number in range(1, factors.repeat + 1)
    ]
    conditions = LoggingConditions(
        warehouses=factors.warehouses,
        log_size=factors.log_size,
        seconds=factors.seconds,
        settling=factors.settling,
        warm_up=factors.warm_up,
    )
    return draw_in_blocks(blocks, repeat=1, seed=factors.drawn_seed(), conditions=conditions, keep=False)


def _groups(factors: Factors, cell: LoggingCell, number: int) -> list[tuple[PlannedInstance, list[PlannedLog]]]:
    instances: dict[tuple[Setting, ...], list[str]] = {}
    for log in factors.compared():
        if factors.why_not(cell.server, log) is None:
            instances.setdefault(started_with(LOGS[log]), []).append(log)
    return [
        (PlannedInstance(cell=cell, started_for=logs[0], block=number), [PlannedLog(log=log) for log in logs])
        for logs in instances.values()
    ]
