"""The plan of the inflation experiment: an instance for each server and binary log, and the cells to be measured on it."""

from __future__ import annotations

from redolab.lab import Lab
from redolab.runs.plan import draw_plan

from .bench import InflationConditions, InflationPlan, PlannedInserts, PlannedInstance
from .factors import Factors


def plan(factors: Factors, lab: Lab) -> InflationPlan:
    """The plan: one server after the other, each cell of an instance in an order drawn at random. Raises `InvalidInput`."""
    factors.check()
    groups = []
    for server in factors.server:
        for binary_log in factors.binary_log:
            steps = [
                PlannedInserts(
                    trx_commit=cell.trx_commit,
                    threads=cell.threads,
                    row_bytes=cell.row_bytes,
                    rows_per_transaction=cell.rows_per_transaction,
                )
                for cell in factors.cells()
                if cell.binary_log == binary_log
            ]
            groups.append((PlannedInstance(server=server, binary_log=binary_log), steps))
    conditions = InflationConditions(seconds=factors.seconds, log_size=factors.log_size)
    return draw_plan(groups, repeat=factors.repeat, seed=factors.drawn_seed(), conditions=conditions, keep=False)
