"""Carrying out a plan into a run: what is missing is made, what is still to be done is measured, in the plan's order."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from redolab.errors import Interrupted, LabError
from redolab.lab import Lab
from redolab.runs.bench import Bench, Measured
from redolab.runs.estimate import Experience
from redolab.runs.failing import STOPPING, Failing
from redolab.runs.plan import Plan, last_positions
from redolab.runs.resuming import RunProgress
from redolab.runs.schema import GroupRecord, TrialRecord
from redolab.runs.store import Run, RunStore

_BRIEFLY = 10.0
"""Seconds between two words on how far a run of short steps is."""


class Execution:
    """One session of a run."""

    def __init__(
        self,
        lab: Lab,
        store: RunStore,
        run: Run,
        bench: Bench[Any, Any, Any],
        plan: Plan[Any, Any, Any],
        experience: Experience,
        *,
        only: Collection[int] | None = None,
    ) -> None:
        """`only`: the groups that are this lab's to do; None: all."""
        self._lab = lab
        self._store = store
        self._run = run
        self._bench = bench
        self._plan = plan
        self._experience = experience
        sessions = run.record().sessions
        self._session = len(sessions) - 1
        self._before = RunProgress(run, bench, plan, sessions[-1])
        self._groups = dict(self._before.groups)
        self._todo = [position for position in self._before.todo if only is None or plan.steps[position].group in only]
        self._names: dict[int, str] = {}
        self._measured: set[int] = set()
        self._not_made: set[int] = set()
        self._with_failures: set[int] = set()
        self._failing = Failing(run, plan, self._session, lab.progress)
        self._is_whole = only is None
        self._told = -_BRIEFLY

    @property
    def todo(self) -> Sequence[int]:
        """The positions of the steps that are still to be done."""
        return self._todo

    @property
    def superseded(self) -> int:
        """Trials of earlier sessions that no longer count."""
        return self._before.superseded

    def execute(self) -> None:
        """Make and measure all that is to be done. Raises `LabError`."""
        last = last_positions(self._plan, self._todo)
        with self._bench.opened(self._run), self._removed_if_not_kept():
            self._bench.catch_up(self._run)
            # A session that was ended right after a group's last step has left what was made for it.
            for group in set(self._groups) - set(last):
                self._remove_unless_kept(group)
            if self._plan.mixes_groups:
                for group in last:
                    if self._made(group):
                        self._failing.went_well()
            for done, position in enumerate(self._todo):
                group = self._plan.steps[position].group
                if not self._made(group):
                    continue
                self._say_how_far(done)
                self._tried(position, self._names[group])
                if position == last[group]:
                    self._released(group)
                    self._remove_unless_kept(group)

    def _made(self, group: int) -> bool:
        """Whether the group's steps have what they share: made now if need be; that it cannot be made is recorded once."""
        if group in self._names or group in self._not_made:
            return group in self._names
        begun = self._failing.begun()
        try:
            self._name(group)
        except STOPPING:
            raise
        except LabError as error:
            self._not_made.add(group)
            known = self._groups.get(group)
            again = self._before.usable(group) is None
            attempt = 1 if known is None else known.attempt + again
            self._failing.record(error, begun, None, group, attempt)
        return group in self._names

    def _tried(self, position: int, name: str) -> None:
        """Measure a step, or record that it failed."""
        group = self._plan.steps[position].group
        begun = self._failing.begun()
        try:
            self._measure(position, name)
        except STOPPING:
            raise
        except LabError as error:
            if position in self._measured:
                # What was measured stays measured: it is only told.
                self._lab.progress.note(f"after it was measured: {error}")
                return
            self._with_failures.add(group)
            self._failing.record(error, begun, position, group, self._groups[group].attempt)
        else:
            self._failing.went_well()

    def _released(self, group: int) -> None:
        """Put away what the group's steps shared; where one of them failed, that this fails too is part of it."""
        name = self._names.pop(group)
        try:
            self._bench.release(group, name)
        except STOPPING:
            raise
        except LabError as error:
            if group not in self._with_failures:
                raise
            self._lab.progress.note(str(error))

    def _name(self, group: int) -> None:
        """Have what the group's steps share: what this run measured it on, something made earlier that serves, or made now."""
        name = self._before.usable(group)
        if name is not None:
            self._bench.use(group, name, self._run)
        else:
            before = self._groups.get(group)
            name = self._made_anew(group, 1 if before is None else before.attempt + 1)
        self._names[group] = name

    def _made_anew(self, group: int, attempt: int) -> str:
        began = time.monotonic()
        ahead = self._bench.is_made_ahead(group)
        name = None if ahead else self._bench.find(group, None)
        made = name is None
        if name is None:
            name = self._bench.make(group, self._run)
        else:
            self._bench.use(group, name, self._run)
        record = GroupRecord(
            group=group,
            attempt=attempt,
            session=self._session,
            name=name,
            made=made,
            seconds=time.monotonic() - began,
            # What was made along with another says nothing of how long that takes.
            cost_keys=() if ahead else tuple(self._plan.groups[group].cost_keys()),
        )
        self._run.add_group(record)
        self._groups[group] = record
        if made:
            self._experience.learn(record.cost_keys, record.seconds)
        return name

    def _measure(self, position: int, name: str) -> None:
        planned = self._plan.steps[position]
        began = time.monotonic()

        def keep(measured: Measured[Any]) -> None:
            record = TrialRecord(
                position=position,
                group=planned.group,
                attempt=self._groups[planned.group].attempt,
                session=self._session,
                took=time.monotonic() - began,
                cost_keys=tuple(self._plan.cost_keys(planned)),
                findings=tuple(measured.findings),
                trial=measured.trial,
            )
            self._run.add_trial(record)
            self._measured.add(position)
            if not measured.findings:
                self._experience.learn(record.cost_keys, record.took)
            for finding in measured.findings:
                self._lab.progress.note(f"FINDING: {finding.what}")

        self._bench.measure(position, planned, name, self._run, keep)

    def _say_how_far(self, done: int) -> None:
        """As in `17 of 36, about 12 min left`."""
        now = time.monotonic()
        if self._bench.brief and now - self._told < _BRIEFLY:
            return
        self._told = now
        missing = {self._plan.steps[position].group for position in self._todo[done:]} - set(self._names)
        estimate = self._experience.estimate(self._plan, self._todo[done:], missing)
        left = "" if estimate is None else f", {estimate.in_words()} left"
        self._lab.progress.note(f"{done + 1} of {len(self._todo)}{left}")

    def _remove_unless_kept(self, group: int) -> None:
        """Where nothing is to be kept, what this run made goes, unless another run measured on it too."""
        record = self._groups[group]
        if self._plan.keep or not (record.made and record.name) or record.name in self._store.names_used(self._run):
            return
        if self._run.findings(group):
            self._lab.progress.note(f"{record.name} stays: a finding was made on it; 'redolab rm' removes it")
            return
        # A group that was done for another lab is measured anew as a whole.
        if group in self._with_failures and self._is_whole:
            self._say_what_stays(record)
            return
        self._bench.remove(record.name, self._run)

    def _say_what_stays(self, record: GroupRecord) -> None:
        self._lab.progress.note(
            f"{record.name} stays for '--resume {self._run.name}'; 'redolab rm {self._run.name}' removes both"
        )

    @contextmanager
    def _removed_if_not_kept(self) -> Iterator[None]:
        """While in it: a run that is broken off keeps what it has measured on, to be resumed, and nothing else."""
        try:
            yield
        except BaseException as error:
            failed = not isinstance(error, Interrupted | KeyboardInterrupt)
            measured = {record.group for record in self._run.trials(object)}
            for group in list(self._names):
                record = self._groups[group]
                if self._plan.keep or not record.made or not record.name:
                    continue
                if failed and group not in measured:
                    self._lab.progress.note(f"{record.name} stays, to look into; 'redolab rm' removes it")
                elif group in measured:
                    self._say_what_stays(record)
                else:
                    self._remove_unless_kept(group)
            raise
