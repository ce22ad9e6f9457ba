"""What of a run is done and stays, and what has to be made and measured anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redolab.machine.description import Machine, same_machine
from redolab.runs.bench import Bench
from redolab.runs.plan import Plan, remaining
from redolab.runs.schema import GroupRecord
from redolab.runs.store import Run


class Standing:
    """How a run stands when a session of it begins on a machine."""

    def __init__(self, run: Run, bench: Bench[Any, Any, Any], plan: Plan[Any, Any, Any], machine: Machine) -> None:
        self.groups: Mapping[int, GroupRecord] = run.groups()
        """Group → what was last made or found for it."""
        self._run = run
        self._bench = bench
        self._plan = plan
        self._machine = machine
        self._usable: dict[int, str | None] = {}
        measured: dict[int, set[int]] = {}
        for record in run.trials(object):
            if record.place is not None:
                measured.setdefault(record.group, set()).add(record.place)
        done = {
            place
            for group, places in measured.items()
            if places >= set(plan.places(group)) or self.usable(group) is not None
            for place in places
        }
        self.todo: Sequence[int] = remaining(plan, done)
        """The places of the steps that are to be done, in the plan's order."""
        self.superseded = sum(len(places) for places in measured.values()) - len(done)
        """Trials that no longer count, as what they were measured on is gone or on another machine."""

    def usable(self, group: int) -> str | None:
        """What the group's trials were measured on, if it is there and the machine is the same."""
        if group not in self._usable:
            record = self.groups.get(group)
            here = record is not None and same_machine(
                self._run.record().sessions[record.session].machine, self._machine
            )
            self._usable[group] = self._bench.find(group, record.name) if record is not None and here else None
        return self._usable[group]

    def to_make(self) -> list[int]:
        """The groups that have steps to be done and nothing to do them on."""
        wanted = dict.fromkeys(self._plan.steps[place].group for place in self.todo)
        return [
            group for group in sorted(wanted) if self.usable(group) is None and self._bench.find(group, None) is None
        ]
