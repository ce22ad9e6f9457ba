"""The plan: one load after the other, in each the blocks in order, in which the small log comes first and last, or the large one."""

from __future__ import annotations

from redolab.lab import Lab
from redolab.records.turns import PlannedBlock, PlannedLoad, ResizingConditions, ResizingPlan
from redolab.runs.plan import plan_as_given
from redolab.storage.attaching import check_possible
from redolab.workloads.catalogue import workload_catalogue

from .factors import Factors


def plan(factors: Factors, lab: Lab) -> ResizingPlan:
    """The plan. Raises `LabError`.

    What changes steadily in the course of a load is then the same for both sizes: each has its turns about the block's middle.
    """
    factors.check()
    check_possible(factors.profiles())
    workload_catalogue().get(factors.workload).require(lab)
    for name in factors.server:
        lab.server(name)
    return plan_of(factors)


def plan_of(factors: Factors) -> ResizingPlan:
    """What the factors ask for, whether or not this machine can do it."""
    conditions = ResizingConditions(seconds=factors.seconds, settling=factors.settling, warm_up=factors.warm_up)
    blocks = [_block(factors, number) for number in range(1, factors.repeat + 1)]
    groups = [(PlannedLoad(cell=cell), blocks) for cell in factors.cells()]
    return plan_as_given(groups, seed=factors.drawn_seed(), conditions=conditions)


def _block(factors: Factors, number: int) -> PlannedBlock:
    small, large = sorted(factors.log_size)
    first, other = (small, large) if number % 2 else (large, small)
    return PlannedBlock(block=number, sizes=(first, other, other, first), seconds=factors.seconds + factors.settling)
