"""A plan as a table: the steps, disk space and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redolab.report.numbers import NONE
from redolab.report.table import Column, ReportTable
from redolab.runs.needs import Needs
from redolab.runs.plan import Order, Plan
from redolab.units import format_size

_SHOWN = 6


def plan_table(plan: Plan[Any, Any, Any], found: Mapping[int, str], needs: Needs) -> ReportTable:
    """Return a row for each group; below, the disk space and the order. `found`: group → its existing product."""
    steps = [
        [plan.steps[position].step.described() for position in plan.positions(group)]
        for group in range(len(plan.groups))
    ]
    repeats = max((planned.repeat for planned in plan.steps), default=0)

    def of_group(heading: str) -> Column[int]:
        return Column(heading, lambda group: plan.groups[group].described().get(heading, NONE))

    def of_steps(heading: str) -> Column[int]:
        return Column(heading, lambda group: ", ".join(dict.fromkeys(each.get(heading, NONE) for each in steps[group])))

    columns = [
        *(
            [Column[int]("block", lambda group: str(plan.blocks[group]), right=True)]
            if len(set(plan.blocks)) > 1
            else []
        ),
        *(of_group(heading) for heading in _headings([group.described() for group in plan.groups])),
        Column[int]("made for it", lambda group: found.get(group, "to be made")),
        *(of_steps(heading) for heading in _headings([each for of_one in steps for each in of_one])),
        Column[int]("repeats", lambda _: str(repeats), right=True),
        Column[int]("steps", lambda group: str(len(steps[group])), right=True),
    ]
    first = "; ".join(step_in_words(plan, position) for position in range(min(_SHOWN, len(plan.steps))))
    more = "; …" * (len(plan.steps) > _SHOWN)
    room = [f"It takes up to {format_size(size)} of the disk under {folder}." for folder, size in needs.disk.items()]
    notes = [
        *room,
        f"{_order_in_words(plan)}: {first}{more}",
        "Nothing was loaded, crashed or measured.",
    ]
    return ReportTable.of("Plan", range(len(plan.groups)), columns, notes)


def _order_in_words(plan: Plan[Any, Any, Any]) -> str:
    if plan.order is Order.GIVEN:
        return "The order is as given"
    drawn = f"drawn with SEED={plan.seed}"
    if plan.order is Order.RANDOM:
        return f"The order of all steps is {drawn}"
    groups = f"groups one after the other, in an order {drawn}, as are the steps of each"
    blocks = len(set(plan.blocks))
    return f"{blocks} blocks, one after the other; in each its {groups}" if blocks > 1 else f"All {groups}"


def _headings(described: Sequence[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(heading for each in described for heading in each))


def step_in_words(plan: Plan[Any, Any, Any], position: int) -> str:
    """Return a step in words that distinguish it from the others; factors that all groups share are left out."""
    planned = plan.steps[position]
    group = plan.groups[planned.group].described()
    varied = {
        name: value for name, value in group.items() if len({each.described().get(name) for each in plan.groups}) > 1
    }
    return ", ".join([*varied.values(), *planned.step.described().values()]) + f" ({planned.repeat})"
