"""Carrying out a plan into a run: what is missing is made, what is still to be done is measured, in the plan's order."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from redolab.errors import Interrupted
from redolab.lab import Lab
from redolab.runs.bench import Bench, Measured
from redolab.runs.estimate import Experience
from redolab.runs.plan import Plan, last_places
from redolab.runs.resuming import Standing
from redolab.runs.schema import GroupRecord, TrialRecord
from redolab.runs.store import Run, RunStore

_BRIEFLY = 10.0
"""Seconds between two words on how far a run of short steps is."""


class Carrying:
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
        self._before = Standing(run, bench, plan, sessions[-1].machine)
        self._groups = dict(self._before.groups)
        self._todo = [place for place in self._before.todo if only is None or plan.steps[place].group in only]
        self._names: dict[int, str] = {}
        self._told = -_BRIEFLY

    @property
    def todo(self) -> Sequence[int]:
        """The places of the steps that are still to be done."""
        return self._todo

    @property
    def superseded(self) -> int:
        """Trials of earlier sessions that no longer count."""
        return self._before.superseded

    def carry_out(self) -> None:
        """Make and measure all that is to be done. Raises `LabError`."""
        last = last_places(self._plan, self._todo)
        # A session that was ended right after a group's last step has left what was made for it.
        for group in set(self._groups) - set(last):
            self._remove_unless_kept(group)
        with self._bench.opened(self._run), self._removed_if_not_kept():
            if self._plan.keep:
                for group in last:
                    self._name(group)
            for done, place in enumerate(self._todo):
                group = self._plan.steps[place].group
                name = self._name(group)
                self._say_how_far(done)
                self._measure(place, name)
                if place == last[group]:
                    self._bench.release(group, name)
                    del self._names[group]
                    self._remove_unless_kept(group)

    def _name(self, group: int) -> str:
        """What the group's steps share: what this run measured it on, something made earlier that serves, or made now."""
        if group in self._names:
            return self._names[group]
        name = self._before.usable(group)
        if name is not None:
            self._bench.use(group, name, self._run)
        else:
            before = self._groups.get(group)
            name = self._made_anew(group, 1 if before is None else before.attempt + 1)
        self._names[group] = name
        return name

    def _made_anew(self, group: int, attempt: int) -> str:
        began = time.monotonic()
        name = self._bench.find(group, None)
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
            alike=tuple(self._plan.groups[group].alike()),
        )
        self._run.add_group(record)
        self._groups[group] = record
        if made:
            self._experience.learn(record.alike, record.seconds)
        return name

    def _measure(self, place: int, name: str) -> None:
        planned = self._plan.steps[place]
        began = time.monotonic()

        def keep(measured: Measured[Any]) -> None:
            record = TrialRecord(
                place=place,
                group=planned.group,
                attempt=self._groups[planned.group].attempt,
                session=self._session,
                took=time.monotonic() - began,
                alike=tuple(self._plan.alike(planned)),
                findings=tuple(measured.findings),
                trial=measured.trial,
            )
            self._run.add_trial(record)
            if not measured.findings:
                self._experience.learn(record.alike, record.took)
            for finding in measured.findings:
                self._lab.progress.note(f"FINDING: {finding.what}")

        self._bench.measure(place, planned, name, self._run, keep)

    def _say_how_far(self, done: int) -> None:
        """As in `17 of 36, about 12 min left`."""
        now = time.monotonic()
        if self._bench.brief and now - self._told < _BRIEFLY:
            return
        self._told = now
        missing = {self._plan.steps[place].group for place in self._todo[done:]} - set(self._names)
        estimate = self._experience.estimate(self._plan, self._todo[done:], missing)
        left = "" if estimate is None else f", {estimate.in_words()} left"
        self._lab.progress.note(f"{done + 1} of {len(self._todo)}{left}")

    def _remove_unless_kept(self, group: int) -> None:
        """Where nothing is to be kept, what this run made goes, unless another run measured on it too."""
        record = self._groups[group]
        if self._plan.keep or not record.made or record.name in self._store.names_used(self._run):
            return
        if any(trial.findings for trial in self._run.trials(object) if trial.group == group):
            self._lab.progress.note(f"{record.name} stays: a finding was made on it; 'redolab rm-image' removes it")
            return
        self._bench.remove(record.name)

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
                    self._lab.progress.note(f"{record.name} stays, to look into; 'redolab rm-image' removes it")
                elif group in measured:
                    self._lab.progress.note(
                        f"{record.name} stays for '--resume {self._run.name}'; 'redolab rm {self._run.name}' removes both"
                    )
                else:
                    self._remove_unless_kept(group)
            raise
