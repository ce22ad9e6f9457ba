"""A plan as a table: what would be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redolab.report.table import Column, ReportTable
from redolab.runs.plan import Plan
from redolab.runs.room import Needs
from redolab.units import format_size

_SHOWN = 6


def plan_table(plan: Plan[Any, Any, Any], found: Mapping[int, str], needs: Needs) -> ReportTable:
    """One row a group; below, the disk space and the order. `found`: group → the name of what is there for it."""
    steps = [[plan.steps[place].step.described() for place in plan.places(group)] for group in range(len(plan.groups))]
    repeats = max((planned.repeat for planned in plan.steps), default=0)

    def of_group(heading: str) -> Column[int]:
        return Column(heading, lambda group: plan.groups[group].described().get(heading, "–"))

    def of_steps(heading: str) -> Column[int]:
        return Column(heading, lambda group: ", ".join(dict.fromkeys(each[heading] for each in steps[group])))

    columns = [
        *(of_group(heading) for heading in _headings([group.described() for group in plan.groups])),
        Column[int]("made for it", lambda group: found.get(group, "to be made")),
        *(of_steps(heading) for heading in _headings([each for of_one in steps for each in of_one])),
        Column[int]("repeats", lambda _: str(repeats), right=True),
        Column[int]("steps", lambda group: str(len(steps[group])), right=True),
    ]
    first = "; ".join(_step_in_words(plan, place) for place in range(min(_SHOWN, len(plan.steps))))
    more = "; …" * (len(plan.steps) > _SHOWN)
    room = [f"It takes up to {format_size(size)} of the disk under {folder}." for folder, size in needs.disk.items()]
    notes = [
        *room,
        f"The order is drawn with SEED={plan.seed}: {first}{more}",
        "Nothing was loaded, crashed or measured.",
    ]
    return ReportTable.of("Plan", range(len(plan.groups)), columns, notes)


def _headings(described: Sequence[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(heading for each in described for heading in each))


def _step_in_words(plan: Plan[Any, Any, Any], place: int) -> str:
    planned = plan.steps[place]
    group = plan.groups[planned.group].described()
    # What all groups share says nothing of the order.
    told = {
        name: value for name, value in group.items() if len({each.described().get(name) for each in plan.groups}) > 1
    }
    return ", ".join([*told.values(), *planned.step.described().values()]) + f" ({planned.repeat})"
