"""Progress of a run to resume: the groups and steps that stay, and those to make and measure anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redolab.runs.bench import Bench, find_product
from redolab.runs.plan import Plan, remaining
from redolab.runs.schema import GroupRecord, Session
from redolab.runs.store import Run


class RunProgress:
    """State of a run at the start of a session on this machine."""

    def __init__(
        self, run: Run, bench: Bench[Any, Any, Any, Any, Any], plan: Plan[Any, Any, Any], here: Session
    ) -> None:
        self.groups: Mapping[int, GroupRecord] = run.groups()
        """Group → record of its last product."""
        self._run = run
        self._bench = bench
        self._plan = plan
        self._here = here
        self._usable: dict[int, str | None] = {}
        measured: dict[int, set[int]] = {}
        for record in run.trials(object):
            measured.setdefault(record.group, set()).add(record.position)
        done = {
            position
            for group, positions in measured.items()
            if positions >= set(plan.positions(group)) or self.usable(group) is not None
            for position in positions
        }
        self.todo: Sequence[int] = remaining(plan, done)
        """Indexes of the steps to be done, in the plan's order."""
        self.superseded = sum(len(positions) for positions in measured.values()) - len(done)
        """Number of trials that no longer count: their product is gone or on another machine."""

    def usable(self, group: int) -> str | None:
        """Return the product that the group's trials were measured on, if it exists and the machine is the same."""
        if group not in self._usable:
            record = self.groups.get(group)
            sessions = self._run.record().sessions
            here = record is not None and sessions[record.session].identity == self._here.identity
            self._usable[group] = find_product(self._bench, group, record.name) if record is not None and here else None
        return self._usable[group]

    def to_make(self) -> list[int]:
        """Return the groups with steps to be done and without a product."""
        wanted = dict.fromkeys(self._plan.steps[position].group for position in self.todo)
        return [
            group for group in sorted(wanted) if self.usable(group) is None and find_product(self._bench, group) is None
        ]
