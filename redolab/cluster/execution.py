"""Carrying out a plan on the machines of a cluster: Dask is given every group, and what comes back is merged as it comes."""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from redolab import __version__
from redolab.cluster import work
from redolab.cluster.address import ClusterAddress
from redolab.cluster.dask import MACHINE, WHOSE, prepare, reasons, security
from redolab.cluster.merging import Merging, groups_merged_whole
from redolab.cluster.task import TOPIC, Task, TaskOutcome, WorkerMessage
from redolab.errors import LabError, StepsFailed
from redolab.machine import bundle, files
from redolab.machine.commit import lab_commit
from redolab.progress import Progress
from redolab.runs.experiment import Experiment
from redolab.runs.failing import ENOUGH
from redolab.runs.plan import Plan, remaining
from redolab.runs.store import Run

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT = "10s"
_LOOK = 1.0
"""Seconds from one look at the cluster to the next while nothing arrives."""
_TO_CLEAN_UP = 60.0
"""Seconds for which the machines are waited for when a run is stopped."""
_PATIENCE = 3.0
"""Seconds before somebody is told that no machine is there."""
_ARRIVING = ".arriving"


@dataclass(frozen=True, slots=True)
class _Ended:
    """A group of which Dask knows the outcome."""

    group: int
    future: Future[bytes]


class Cluster:
    """A scheduler that is connected."""

    def __init__(self, address: ClusterAddress, client: Client) -> None:
        self.address = address
        self.client = client

    def machines(self) -> list[str]:
        """The names of the machines that have joined."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return sorted(str(each["name"]) for each in workers if each["resources"].get(MACHINE))

    @property
    def is_there(self) -> bool:
        """Whether the scheduler still answers."""
        return bool(self.client.status == "running")


@contextmanager
def connected(address: ClusterAddress) -> Iterator[Cluster]:
    """While in it the scheduler is connected. Raises `InvalidInput`, `LabError`."""
    prepare()
    certificates = security("client", address)
    from distributed import Client

    try:
        client = Client(str(address), security=certificates, timeout=_CONNECT, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise LabError(
            f"no scheduler answers at {address} ({reasons(error)[-1]})",
            f"'redolab scheduler' starts one; {WHOSE}",
        ) from error
    try:
        yield Cluster(address, client)
    finally:
        with suppress(Exception):
            client.close(timeout=5)


class ClusterExecution:
    """One session of a run that a cluster measures."""

    def __init__(
        self,
        cluster: Cluster,
        run: Run,
        plan: Plan[Any, Any, Any],
        name: str,
        experiment: Experiment,
        options: Mapping[str, str],
        progress: Progress,
    ) -> None:
        self._cluster = cluster
        self._run = run
        self._plan = plan
        self._name = name
        self._experiment = experiment
        self._options = options
        self._progress = progress
        self._merging = Merging(run, plan)
        self._complete = groups_merged_whole(run, plan)
        done = {position for group in self._complete for position in plan.positions(group)}
        self.todo: Sequence[int] = remaining(plan, done)
        """The positions of the steps that are still to be done."""
        self.superseded = sum(record.group not in self._complete for record in run.trials(object))
        """Trials that no longer count: of groups that are not whole."""
        self._mark = uuid.uuid4().hex
        self._news: queue.SimpleQueue[_Ended | WorkerMessage] = queue.SimpleQueue()
        self._at_work: dict[str, bool] = {}
        self._told_to_join = False
        self._failed_in_a_row = 0

    def execute(self) -> None:
        """Have every group measured that is to be done. Raises `LabError`."""
        groups = list(dict.fromkeys(self._plan.steps[position].group for position in self.todo))
        if not groups:
            return
        client = self._cluster.client
        client.subscribe_topic(f"{TOPIC}-{self._mark}", self._heard)
        futures = [self._submitted(group, rank) for rank, group in enumerate(groups)]
        try:
            self._merge_all(len(groups))
        except BaseException:
            with suppress(Exception):
                client.cancel(futures, force=True)
                self._wait_for_machines()
            raise
        finally:
            files.remove(self._run.folder / _ARRIVING)

    def _heard(self, event: tuple[float, object]) -> None:
        """In a thread of Dask's."""
        self._news.put(msgspec.convert(event[1], WorkerMessage))

    def _submitted(self, group: int, rank: int) -> Future[bytes]:
        task = Task(
            mark=self._mark,
            key=f"{self._run.name}-{group + 1}-{self._mark}",
            experiment=self._name,
            options=self._options,
            plan=msgspec.Raw(msgspec.json.encode(self._plan)),
            group=group,
            version=__version__,
            commit=lab_commit(),
            logs=self._logs_of(group),
        )
        future = self._cluster.client.submit(
            work.do,
            msgspec.json.encode(task),
            key=task.key,
            resources={MACHINE: 1},
            priority=-rank,
            pure=False,
        )
        future.add_done_callback(lambda ended: self._news.put(_Ended(group, ended)))
        return future

    def _logs_of(self, group: int) -> list[str]:
        """Those that an earlier attempt of the group has left."""
        prefixes = tuple(f"{position + 1:03}-" for position in self._plan.positions(group))
        return [name for name in files.names(self._run.folder / "logs") if name.startswith(prefixes)]

    def _merge_all(self, count: int) -> None:
        merged, told = 0, -1
        waited = time.monotonic()
        while merged < count:
            try:
                news = self._news.get(timeout=_LOOK)
            except queue.Empty:
                self._check_cluster(since=waited)
                continue
            if isinstance(news, WorkerMessage):
                self._tell(news)
            else:
                self._take(news)
                merged += 1
            if merged > told:
                told = merged
                if merged < count:
                    self._progress.note(f"{merged} of {self._experiment.group.of(count)} measured")

    def _check_cluster(self, since: float) -> None:
        if not self._cluster.is_there:
            raise self._gone()
        if self._told_to_join or self._at_work or time.monotonic() - since < _PATIENCE:
            return
        if not self._cluster.machines():
            self._told_to_join = True
            self._progress.note(f"no machine has joined yet: 'redolab worker {self._cluster.address}' on one does")

    def _tell(self, said: WorkerMessage) -> None:
        self._at_work[said.machine] = not said.ended
        if line := said.line.strip():
            self._progress.console.print(f"{said.machine}: {line}", highlight=False, markup=False, soft_wrap=True)

    def _take(self, ended: _Ended) -> None:
        """Merge what came of a group. Raises `LabError`."""
        outcome = self._outcome(ended)
        folder = self._run.folder / _ARRIVING
        files.remove(folder)
        try:
            if outcome.check:
                bundle.unpack(outcome.check, folder / "check")
                self._merging.keep_check(Run(folder / "check"))
            if outcome.group:
                bundle.unpack(outcome.group, folder / "group")
            if outcome.failure is not None:
                if outcome.group:
                    self._merging.keep_failed_run(Run(folder / "group"))
                failure = outcome.failure
                raise LabError(f"{outcome.machine}: {failure.problem}", failure.remedy, failure.details)
            self._merging.merge(ended.group, Run(folder / "group"))
        finally:
            files.remove(folder)
        self._look_at_failures(ended.group)
        for finding in (
            each for record in self._run.trials(object) if record.group == ended.group for each in record.findings
        ):
            self._progress.note(f"FINDING: {finding.what}")

    def _look_at_failures(self, group: int) -> None:
        """Raises `StepsFailed` if groups fail one after the other, wherever they are measured."""
        failures = [failure for failure in self._run.failures() if failure.group == group]
        if not failures or any(trial.group == group for trial in self._run.trials(object)):
            self._failed_in_a_row = 0
            return
        self._failed_in_a_row += 1
        if self._failed_in_a_row == ENOUGH:
            last = failures[-1]
            raise StepsFailed(
                f"nothing of {self._experiment.group.of(ENOUGH)} in a row could be measured, the last: {last.problem}",
                last.remedy,
                last.details,
            )

    def _outcome(self, ended: _Ended) -> TaskOutcome:
        from distributed.scheduler import KilledWorker

        which = " ".join(self._plan.groups[ended.group].described().values())
        try:
            return msgspec.msgpack.decode(ended.future.result(), type=TaskOutcome)
        except KilledWorker as error:
            raise LabError(
                f"{error.allowed_failures + 1} machines were lost while they measured {which}",
                "look at why their workers ended",
            ) from error
        except LabError:
            raise
        except Exception as error:
            if ended.future.cancelled() or not self._cluster.is_there:
                raise self._gone() from error
            raise LabError(f"Dask could not have {which} measured ({type(error).__name__}: {error})") from error

    def _gone(self) -> LabError:
        return LabError(
            f"the scheduler at {self._cluster.address} is gone",
            f"'--resume {self._run.name} --cluster ADDRESS' goes on with the groups that are missing",
        )

    def _wait_for_machines(self) -> None:
        """Until those at work have ended what they had started, and cleaned up."""
        deadline = time.monotonic() + _TO_CLEAN_UP
        while self._cluster.is_there and time.monotonic() < deadline:
            if not any(self._at_work.get(name) for name in self._cluster.machines()):
                return
            with suppress(queue.Empty):
                news = self._news.get(timeout=_LOOK)
                if isinstance(news, WorkerMessage):
                    self._tell(news)
