"""Comparisons within a run that are confounded with time: what was measured one after the other in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import groupby
from typing import Any

from redolab.runs.plan import Order, Plan
from redolab.runs.store import Run


def confounded_with_time(runs: Sequence[Run], plan_type: Any, compared: Mapping[str, Callable[[Any], Hashable]]) -> str:
    """Return a sentence that names what these runs measured in a fixed order; empty if the order was drawn.

    `compared` has what a reader compares, in the plural, with its value in a group of the plan.
    """
    plans = {run: run.plan(plan_type) for run in runs}
    fixed = {
        what: [run for run, plan in plans.items() if is_in_fixed_order(plan, key)] for what, key in compared.items()
    }
    names = [what for what, own in fixed.items() if own]
    if not names:
        return ""
    days = sorted({f"{run.record().began:%Y-%m-%d}" for own in fixed.values() for run in own})
    things = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    return (
        f"{things[0].upper()}{things[1:]} were measured one after the other in a fixed order ({', '.join(days)}): "
        "a drift of the host in that time would look like a difference between them."
    )


def is_in_fixed_order(plan: Plan[Any, Any, Any], key: Callable[[Any], Hashable]) -> bool:
    """Return whether groups that differ in this value were measured in an order that nobody drew."""
    values = [key(group) for group in plan.groups]
    if len(set(values)) == 1 or plan.order is Order.RANDOM:
        return False
    if plan.order is not Order.BLOCKS:
        return True
    blocks = [
        {value for value, of in zip(values, plan.blocks, strict=True) if of == number}
        for number in sorted(set(plan.blocks))
    ]
    if any(len(block) > 1 for block in blocks):
        return False
    # Each value in blocks of its own: interleaved, a drift meets all of them.
    return len([value for value, _ in groupby(blocks)]) == len(set(values))
