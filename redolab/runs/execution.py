"""Execution of a plan in a run: groups are entered and left, and steps measured, in the plan's order."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from redolab.errors import Interrupted, LabError
from redolab.lab import Lab
from redolab.runs.bench import Bench, GroupContext, KeepsProducts, StepContext, find_product
from redolab.runs.estimate import Experience
from redolab.runs.failing import STOPPING, Failing
from redolab.runs.plan import Plan, last_positions
from redolab.runs.resuming import RunProgress
from redolab.runs.schema import Finding, GroupRecord, TrialRecord
from redolab.runs.store import Run, RunStore

_BETWEEN_PROGRESS = 10.0
"""Seconds between two progress lines of a run of short steps."""


@dataclass(frozen=True, slots=True)
class _Entered:
    """An entered group: its product, the value its steps measure, and the stack that leaves it."""

    product: str
    made: Any
    stack: ExitStack


class Execution:
    """One session of a run."""

    def __init__(
        self,
        lab: Lab,
        store: RunStore,
        run: Run,
        bench: Bench[Any, Any, Any, Any, Any],
        plan: Plan[Any, Any, Any],
        experience: Experience,
        *,
        only: Collection[int] | None = None,
    ) -> None:
        """Prepare a session. `only`: the groups that this lab measures; None: all."""
        self._lab = lab
        self._store = store
        self._run = run
        self._bench = bench
        self._plan = plan
        self._experience = experience
        sessions = run.record().sessions
        self._session = len(sessions) - 1
        self._at_start = RunProgress(run, bench, plan, sessions[-1])
        self._groups = dict(self._at_start.groups)
        self._todo = [
            position for position in self._at_start.todo if only is None or plan.steps[position].group in only
        ]
        self._entered: dict[int, _Entered] = {}
        self._all_entered = ExitStack()
        """Ends the groups that are still entered when the run ends."""
        self._measured: set[int] = set()
        self._not_made: set[int] = set()
        self._with_failures: set[int] = set()
        self._failing = Failing(run, plan, self._session, lab.progress)
        self._is_whole = only is None
        self._last_progress = -_BETWEEN_PROGRESS

    @property
    def todo(self) -> Sequence[int]:
        """Indexes of the steps still to be done."""
        return self._todo

    @property
    def superseded(self) -> int:
        """Number of trials of earlier sessions that no longer count."""
        return self._at_start.superseded

    def execute(self) -> None:
        """Make and measure everything that is to be done. Raises `LabError`."""
        last = last_positions(self._plan, self._todo)
        with self._bench.opened(self._run), self._removed_if_not_kept(), self._all_entered:
            # A session that was ended right after a group's last step has left its product.
            for group in set(self._groups) - set(last):
                self._remove_unless_kept(group)
            if self._plan.mixes_groups:
                for group in last:
                    if self._is_entered(group):
                        self._failing.went_well()
            for done, position in enumerate(self._todo):
                group = self._plan.steps[position].group
                if not self._is_entered(group):
                    continue
                self._print_progress(done)
                self._try(position)
                if position == last[group]:
                    self._leave(group)
                    self._remove_unless_kept(group)

    def _is_entered(self, group: int) -> bool:
        """Enter a group if necessary. Return False if it cannot be entered, which is recorded once."""
        if group in self._entered or group in self._not_made:
            return group in self._entered
        start = self._failing.start()
        try:
            self._enter(group)
        except STOPPING:
            raise
        except LabError as error:
            self._not_made.add(group)
            known = self._groups.get(group)
            again = self._at_start.usable(group) is None
            attempt = 1 if known is None else known.attempt + again
            self._failing.record(error, start, None, group, attempt)
        return group in self._entered

    def _enter(self, group: int) -> None:
        """Enter a group: on the product that this run measured on, on another suitable one, or on a new one."""
        began = time.monotonic()
        product, is_new = self._known_product(group), False
        if product is None:
            is_new = not isinstance(self._bench, KeepsProducts)
            product = "" if is_new else self._find_or_make(group)
        with ExitStack() as stack:
            context = self._bench.group(self._plan.groups[group], GroupContext(self._run, group, product))
            made = stack.enter_context(context)
            if is_new:
                self._record(group, product, began, made=True)
            entered = _Entered(product, made, stack.pop_all())
        self._all_entered.push(entered.stack)
        self._entered[group] = entered

    def _find_or_make(self, group: int) -> str:
        """Return a product for a group, and record it in the run at once: a killed lab would forget it."""
        assert isinstance(self._bench, KeepsProducts)
        began = time.monotonic()
        found = self._bench.find(group, None)
        product = self._bench.make(group, self._run) if found is None else found
        self._record(group, product, began, made=found is None)
        return product

    def _known_product(self, group: int) -> str | None:
        """Return the product of a group that this run measured on, or that this session made along with another."""
        if (product := self._at_start.usable(group)) is not None:
            return product
        record = self._run.groups().get(group)
        if record is None or record.session != self._session:
            return None
        product = find_product(self._bench, group, record.name)
        if product is not None:
            self._groups[group] = record
        return product

    def _record(self, group: int, product: str, began: float, *, made: bool) -> None:
        before = self._groups.get(group)
        record = GroupRecord(
            group=group,
            attempt=1 if before is None else before.attempt + 1,
            session=self._session,
            name=product,
            made=made,
            seconds=time.monotonic() - began,
            cost_keys=tuple(self._plan.groups[group].cost_keys()),
        )
        self._run.add_group(record)
        self._groups[group] = record
        if made:
            self._experience.learn(record.cost_keys, record.seconds)

    def _try(self, position: int) -> None:
        """Measure a step, or record that it failed."""
        group = self._plan.steps[position].group
        start = self._failing.start()
        try:
            self._measure(position)
        except STOPPING:
            raise
        except LabError as error:
            if position in self._measured:
                # The trial is already on disk: report the later error and go on.
                self._lab.progress.note(f"after it was measured: {error}")
                return
            self._with_failures.add(group)
            self._failing.record(error, start, position, group, self._groups[group].attempt)
        else:
            self._failing.went_well()

    def _leave(self, group: int) -> None:
        """Leave a group. After a failed step, an error while leaving is part of the same failure."""
        entered = self._entered.pop(group)
        try:
            entered.stack.close()
        except STOPPING:
            raise
        except LabError as error:
            if group not in self._with_failures:
                raise
            self._lab.progress.note(str(error))

    def _measure(self, position: int) -> None:
        planned = self._plan.steps[position]
        entered = self._entered[planned.group]
        began = time.monotonic()

        def keep(trial: Any, findings: Sequence[Finding] = ()) -> None:
            record = TrialRecord(
                position=position,
                group=planned.group,
                attempt=self._groups[planned.group].attempt,
                session=self._session,
                took=time.monotonic() - began,
                cost_keys=tuple(self._plan.cost_keys(planned)),
                findings=tuple(findings),
                trial=trial,
            )
            self._run.add_trial(record)
            self._measured.add(position)
            if not findings:
                self._experience.learn(record.cost_keys, record.took)
            for finding in findings:
                self._lab.progress.note(f"FINDING: {finding.what}")

        at = StepContext(self._run, planned.group, position, planned.repeat, entered.product, keep)
        group = self._plan.groups[planned.group]
        trial = self._bench.measure(group, planned.step, entered.made, at)
        if trial is not None:
            keep(trial, self._bench.findings(group, planned.step, trial))

    def _print_progress(self, done: int) -> None:
        """Print progress as in `17 of 36, about 12 min left`."""
        now = time.monotonic()
        if self._bench.brief and now - self._last_progress < _BETWEEN_PROGRESS:
            return
        self._last_progress = now
        missing = {self._plan.steps[position].group for position in self._todo[done:]} - set(self._entered)
        estimate = self._experience.estimate(self._plan, self._todo[done:], missing)
        left = "" if estimate is None else f", {estimate.in_words()} left"
        self._lab.progress.note(f"{done + 1} of {len(self._todo)}{left}")

    def _remove_unless_kept(self, group: int) -> None:
        """Remove the product that this run made for a group, unless it is to be kept or another run measured on it."""
        record = self._groups[group]
        if self._plan.keep or not (record.made and record.name) or record.name in self._store.names_used(self._run):
            return
        if self._run.findings(group):
            self._lab.progress.note(f"{record.name} stays: a finding was made on it; 'redolab rm' removes it")
            return
        # A group that was done for another lab is measured anew as a whole.
        if group in self._with_failures and self._is_whole:
            self._note_product_stays(record)
            return
        if isinstance(self._bench, KeepsProducts):
            self._bench.remove(record.name, self._run)

    def _note_product_stays(self, record: GroupRecord) -> None:
        self._lab.progress.note(
            f"{record.name} stays for '--resume {self._run.name}'; 'redolab rm {self._run.name}' removes both"
        )

    @contextmanager
    def _removed_if_not_kept(self) -> Iterator[None]:
        """Remove, after an exception, the products that neither resuming nor a look into the failure needs."""
        try:
            yield
        except BaseException as error:
            failed = not isinstance(error, Interrupted | KeyboardInterrupt)
            measured = {record.group for record in self._run.trials(object)}
            for group in list(self._entered):
                record = self._groups[group]
                if self._plan.keep or not record.made or not record.name:
                    continue
                if failed and group not in measured:
                    self._lab.progress.note(f"{record.name} stays, to look into; 'redolab rm' removes it")
                elif group in measured:
                    self._note_product_stays(record)
                else:
                    self._remove_unless_kept(group)
            raise
