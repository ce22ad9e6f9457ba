"""The plan of the inflation experiment: an instance for each set of start options, and the cells to be measured on it."""

from __future__ import annotations

from redolab.lab import Lab
from redolab.runs.plan import draw_plan

from .bench import InflationConditions, InflationPlan, PlannedInserts, PlannedInstance
from .factors import Factors


def plan(factors: Factors, lab: Lab) -> InflationPlan:
    """Return the plan: instances of all servers one after the other in a drawn order, and the cells of each. Raises `InvalidInput`."""
    factors.check()
    instances: dict[PlannedInstance, list[PlannedInserts]] = {}
    for server in factors.server:
        for cell in factors.cells():
            instance = PlannedInstance(server=server, binary_log=cell.binary_log, trx_commit=cell.trx_commit)
            inserts = PlannedInserts(
                threads=cell.threads,
                row_bytes=cell.row_bytes,
                rows_per_transaction=cell.rows_per_transaction,
                seconds=factors.seconds,
            )
            instances.setdefault(instance, []).append(inserts)
    conditions = InflationConditions(log_size=factors.log_size)
    return draw_plan(
        [list(instances.items())],
        repeat=factors.repeat,
        seed=factors.drawn_seed(),
        conditions=conditions,
        keep=False,
    )
