"""Runs that a cluster measures: plan and run lie here, Dask hands out the groups, results are merged."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from redolab.errors import InvalidInput, LabError, StepsFailed
from redolab.lab import native_folder, open_lab
from redolab.machine import bundle, files
from redolab.machine.commit import lab_commit
from redolab.machine.description import read_machine
from redolab.machine.interrupts import unwinding
from redolab.machines.cluster import worker
from redolab.machines.cluster.dask import MACHINE, WHOSE, ClusterAddress, prepare, reasons, security
from redolab.machines.cluster.merging import Merging, groups_merged_whole
from redolab.machines.cluster.worker import Task, TaskOutcome
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.report.table import print_lines
from redolab.runs.experiment import Declaration
from redolab.runs.factors import CommonFactors
from redolab.runs.failing import ENOUGH
from redolab.runs.loading import load_experiment
from redolab.runs.machines import MACHINES
from redolab.runs.plan import Plan, remaining
from redolab.runs.session import Executor, check_resumed, execute_run, run_experiment, session_here, to_resume
from redolab.runs.store import Run, RunStore, new_session

if TYPE_CHECKING:
    from distributed import Client, Future

_POLL_SECONDS = 1.0
"""Seconds between two looks at the cluster while nothing arrives."""
_TO_CLEAN_UP = 60.0
"""Seconds for which the machines are waited for when a run is stopped."""
_ARRIVING = ".arriving"


def run_on_cluster(name: str, factors: CommonFactors, address: ClusterAddress, progress: Progress) -> None:
    """Run an experiment on the machines of a cluster, resume a run there, or only show the plan. Raises `LabError`."""
    if factors.resume is not None:
        check_resumed(factors)
        _resume(factors.resume, address, progress, beside_others=factors.beside_others)
        return
    experiment, store = load_experiment(name), RunStore()
    _check_can_go(name, experiment)
    if factors.plan:
        run_experiment(name, factors, progress)
        return
    with unwinding(), _connected(address) as client, ExitStack() as held:
        lab = held.enter_context(open_lab(progress, store.clear_unfinished))
        plan = experiment.plan_from(factors, lab)
        options = {**factors.in_words(), "seed": str(plan.seed)}
        progress.note(
            f"{experiment.step_noun.of(len(plan.steps))}, {experiment.group_noun.of(len(plan.groups))} to make first, on the "
            f"machines {', '.join(_machines(client)) or 'that will join'} (seed {plan.seed})"
        )
        run = store.create(name, options, session_here(lab))
        run.write_plan(plan)

        def begin() -> Executor:
            # This machine is given back once the run is known to be running: it may be one of those that measure.
            held.close()
            return _ClusterExecution(client, address, run, plan, experiment, options, progress)

        execute_run(store, experiment, run, plan, progress, begin)


def _resume(name: str, address: ClusterAddress, progress: Progress, *, beside_others: bool) -> None:
    store = RunStore()
    run = store.get(name)
    if cleared := store.clear(run):
        progress.note(f"an earlier run was killed and left {cleared}")
        run = store.get(name)
    experiment, plan = to_resume(run)
    record = run.record()
    options = {**record.options, **({"beside_others": "on"} if beside_others else {})}
    _check_can_go(record.experiment, experiment)
    with unwinding(), _connected(address) as client:
        store.reopen(run, new_session(read_machine(native_folder(PROJECT.lab)), lab_commit(), {}))
        execution = _ClusterExecution(client, address, run, plan, experiment, options, progress)
        execute_run(store, experiment, run, plan, progress, lambda: execution)


def _check_can_go(name: str, experiment: type[Declaration]) -> None:
    if experiment.check_cell is None:
        raise InvalidInput(
            f"the experiment {name} has no check cell, which says how alike machines are",
            "run it on one machine: MACHINE=ssh:HOST, or here",
        )


@contextmanager
def _connected(address: ClusterAddress) -> Iterator[Client]:
    """Connect to the scheduler for the block. Raises `InvalidInput`, `LabError`."""
    prepare()
    certificates = security("client", address)
    from distributed import Client

    try:
        client = Client(str(address), security=certificates, timeout="10s")
    except (OSError, TimeoutError) as error:
        raise LabError(
            f"no scheduler answers at {address} ({reasons(error)})",
            f"'redolab scheduler' starts one; {WHOSE}",
        ) from error
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=5)


def _machines(client: Client) -> list[str]:
    """Return the names of the machines that have joined."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return sorted(str(each["name"]) for each in workers if each["resources"].get(MACHINE))


@dataclass
class _ClusterExecution:
    """A session of a run that a cluster measures."""

    client: Client
    address: ClusterAddress
    run: Run
    plan: Plan[Any, Any, Any]
    experiment: type[Declaration]
    options: Mapping[str, str]
    progress: Progress

    def __post_init__(self) -> None:
        self._merging = Merging(self.run, self.plan)
        complete = groups_merged_whole(self.run, self.plan)
        done = {position for group in complete for position in self.plan.positions(group)}
        self.todo: Sequence[int] = remaining(self.plan, done)
        """The positions of the steps that are still to be done."""
        self.superseded = sum(record.group not in complete for record in self.run.trials(object))
        """Trials that no longer count: of groups that are not whole."""
        self._mark = f"redolab-{uuid.uuid4().hex}"
        self._busy: dict[str, bool] = {}
        """Machine → whether it is measuring; written by a thread of Dask's."""
        self._failed_in_a_row = 0

    def execute(self) -> None:
        """Measure all groups that are still to be done. Raises `LabError`."""
        groups = list(dict.fromkeys(self.plan.steps[position].group for position in self.todo))
        if not _machines(self.client):
            self.progress.note(f"no machine has joined yet: 'redolab worker {self.address}' on one does")
        self.client.subscribe_topic(self._mark, self._on_event)
        futures = {self._submit(group, rank): group for rank, group in enumerate(groups)}
        try:
            for merged, future in enumerate(self._completed(list(futures)), start=1):
                self._merge(futures[future], self._outcome(futures[future], future))
                if merged < len(groups):
                    self.progress.note(f"{merged} of {self.experiment.group_noun.of(len(groups))} measured")
        except BaseException:
            with suppress(Exception):
                self.client.cancel(list(futures), force=True)
                self._wait_for_machines()
            raise
        finally:
            files.remove(self.run.folder / _ARRIVING)

    def _on_event(self, event: tuple[float, Mapping[str, Any]]) -> None:
        machine, line = event[1]["machine"], event[1]["line"]
        self._busy[machine] = line is not None
        if line and line.strip():
            print_lines(self.progress.console, f"{machine}: {line.strip()}")

    def _submit(self, group: int, rank: int) -> Future[TaskOutcome]:
        prefixes = tuple(f"{position + 1:03}-" for position in self.plan.positions(group))
        task = Task(
            mark=self._mark,
            experiment=self.run.record().experiment,
            options=self.options,
            plan=msgspec.json.encode(self.plan).decode(),
            group=group,
            lab=worker.lab_version(),
            logs=[name for name in files.names(self.run.folder / "logs") if name.startswith(prefixes)],
        )
        key = f"{self.run.name}-{group + 1}-{self._mark}"
        return self.client.submit(worker.do, task, key=key, resources={MACHINE: 1}, priority=-rank, pure=False)

    def _completed(self, pending: Sequence[Future[TaskOutcome]]) -> Iterator[Future[TaskOutcome]]:
        """Yield each group whose outcome Dask knows. Raises `LabError` if the scheduler is gone."""
        from distributed import wait

        while pending:
            try:
                ended, pending = wait(pending, timeout=_POLL_SECONDS, return_when="FIRST_COMPLETED")
            except TimeoutError:
                if self.client.status != "running":
                    raise self._scheduler_gone() from None
            except CancelledError as error:
                raise self._scheduler_gone() from error
            else:
                yield from ended

    def _outcome(self, group: int, future: Future[TaskOutcome]) -> TaskOutcome:
        """Return the outcome of a group. Raises `LabError`."""
        from distributed.scheduler import KilledWorker

        which = " ".join(self.plan.groups[group].described().values())
        try:
            return future.result()
        except KilledWorker as error:
            raise LabError(
                f"{error.allowed_failures + 1} machines were lost while they measured {which}",
                "look at why their workers ended",
            ) from error
        except Exception as error:
            if future.cancelled() or self.client.status != "running":
                raise self._scheduler_gone() from error
            raise LabError(f"Dask could not have {which} measured ({type(error).__name__}: {error})") from error

    def _merge(self, group: int, outcome: TaskOutcome) -> None:
        """Merge the outcome of a group. Raises `LabError`."""
        folder = self.run.folder / _ARRIVING
        files.remove(folder)
        if outcome.check:
            bundle.unpack(outcome.check, folder / "check")
            self._merging.keep(Run(folder / "check"), MACHINES)
        if outcome.group:
            bundle.unpack(outcome.group, folder / "group")
        if (failure := outcome.failure) is not None:
            if outcome.group:
                self._merging.keep(Run(folder / "group"), "failed")
            raise LabError(f"{outcome.machine}: {failure.problem}", failure.remedy, failure.details)
        self._merging.merge(group, Run(folder / "group"))
        self._check_failures(group)
        for finding in self.run.findings(group):
            self.progress.note(f"FINDING: {finding.what}")

    def _check_failures(self, group: int) -> None:
        """Raise `StepsFailed` if groups fail one after the other, on whatever machines."""
        failures = [failure for failure in self.run.failures() if failure.group == group]
        measured = any(trial.group == group for trial in self.run.trials(object))
        self._failed_in_a_row = self._failed_in_a_row + 1 if failures and not measured else 0
        if self._failed_in_a_row == ENOUGH:
            what = f"nothing of {self.experiment.group_noun.of(ENOUGH)} in a row could be measured"
            last = failures[-1]
            raise StepsFailed(f"{what}, the last: {last.problem}", last.remedy, last.details)

    def _scheduler_gone(self) -> LabError:
        return LabError(
            f"the scheduler at {self.address} is gone",
            f"'--resume {self.run.name} --cluster ADDRESS' goes on with the groups that are missing",
        )

    def _wait_for_machines(self) -> None:
        """Wait until busy machines have ended their work and cleaned up."""
        deadline = time.monotonic() + _TO_CLEAN_UP
        while self.client.status == "running" and time.monotonic() < deadline:
            if not any(self._busy.get(name) for name in _machines(self.client)):
                return
            time.sleep(_POLL_SECONDS / 2)
