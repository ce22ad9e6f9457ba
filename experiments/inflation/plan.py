"""The plan of the inflation experiment: an instance for each set of start options, and the cells to be measured on it."""

from __future__ import annotations

import random

from redolab.lab import Lab
from redolab.runs.plan import draw_plan

from .bench import InflationConditions, InflationPlan, PlannedInserts, PlannedInstance
from .factors import Factors


def plan(factors: Factors, lab: Lab) -> InflationPlan:
    """The plan: one server after the other; its instances, and the cells of each, in an order drawn at random. Raises `InvalidInput`."""
    factors.check()
    groups: list[tuple[PlannedInstance, list[PlannedInserts]]] = []
    seed = factors.drawn_seed()
    draw = random.Random(seed)
    for server in factors.server:
        instances: dict[PlannedInstance, list[PlannedInserts]] = {}
        for cell in factors.cells():
            instance = PlannedInstance(server=server, binary_log=cell.binary_log, trx_commit=cell.trx_commit)
            inserts = PlannedInserts(
                threads=cell.threads,
                row_bytes=cell.row_bytes,
                rows_per_transaction=cell.rows_per_transaction,
                seconds=factors.seconds,
            )
            instances.setdefault(instance, []).append(inserts)
        of_server = list(instances.items())
        draw.shuffle(of_server)
        groups += of_server
    conditions = InflationConditions(log_size=factors.log_size)
    return draw_plan(groups, repeat=factors.repeat, seed=seed, conditions=conditions, keep=False)
