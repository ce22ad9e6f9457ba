"""The plan of the inflation experiment: an instance for each set of start options, and the cells to be measured on it."""

from __future__ import annotations

from redolab.lab import Lab
from redolab.runs.plan import draw_in_blocks

from .bench import InflationConditions, InflationPlan, PlannedInserts, PlannedInstance
from .factors import Factors


def plan(factors: Factors, lab: Lab) -> InflationPlan:
    """The plan: one server after the other; its instances, and the cells of each, in an order drawn at random. Raises `InvalidInput`."""
    factors.check()
    blocks: list[list[tuple[PlannedInstance, list[PlannedInserts]]]] = []
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
        blocks.append(list(instances.items()))
    conditions = InflationConditions(log_size=factors.log_size)
    return draw_in_blocks(blocks, repeat=factors.repeat, seed=factors.drawn_seed(), conditions=conditions, keep=False)
