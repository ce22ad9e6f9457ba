"""Recoveries that are checked for their content and not timed: several at once, on a warm and busy disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import CrashImage
from redolab.crash.records.recovery import Outcome
from redolab.crash.records.verdict import Judgement
from redolab.crash.recovery.judge import judge, not_ready
from redolab.crash.recovery.probe import Probe
from redolab.crash.recovery.watching import WatchedRecovery, end_so_far
from redolab.disks.place import Place
from redolab.errorlog.watch import STUCK_AFTER
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.progress import Stage
from redolab.runs.schema import Ruling
from redolab.servers.dialects import InstanceRequest
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder

_LOOK = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTask:
    """A recovery that is to be checked."""

    number: int
    """Number that distinguishes the recovery from the others."""
    server: InstalledServer
    request: InstanceRequest
    """Properties of the recovering server."""
    log: Path
    """Path of the server's error log."""
    settings: str = ""
    """Settings beyond the lab's own (`redolab.servers.extra_settings`)."""
    stuck_after: float = STUCK_AFTER
    """Seconds without progress after which the recovery counts as stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTask(CheckedTask):
    """A recovery of a crash image that is to be checked."""

    image: CrashImage
    turn: int
    """Number of this consistency check of the image: the first is the most thorough."""


T = TypeVar("T", bound=CheckedTask)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Folder of a crashed server, ready to start, and the place it lies on."""

    folder: Path
    place: Place


@dataclass(frozen=True, slots=True)
class Checks(Generic[T, V]):
    """Functions that prepare recoveries and check their results."""

    prepare: Callable[[T], AbstractContextManager[Prepared]]
    """Context manager inside which the crashed server's folder exists."""
    judge: Callable[[T, Instance], V]
    """Consistency check of a server that is ready; called in a thread of its own."""
    not_ready: Callable[[T, Instance, Outcome], V]
    """Check result for a server that cannot be asked."""
    is_right: Callable[[V], bool]
    judged_after: frozenset[Outcome] = frozenset({Outcome.READY})
    """The outcomes after which there is a server to ask."""


@dataclass(frozen=True, slots=True)
class CheckedRecovery(Generic[T, V]):
    """Result of one checked recovery."""

    task: T
    end: WatchedRecovery
    verdict: V
    folder: Path
    """Folder of the instance. The server has ended; its files are still there."""


def checks_of_images(lab: Lab, images: ImageStore, place: Place) -> Checks[ImageTask, Judgement]:
    """Return the checks of copies of crash images, by `judge`."""

    @contextmanager
    def prepare(task: ImageTask) -> Iterator[Prepared]:
        folder = place.folder / "instances" / f"{task.image.name}-checked-{task.number}"
        with lab.journal.making(folder, f"the copy of {task.image.name} that was being checked"):
            prepare_folder(task.server, folder)
            files.remove(folder / DATA)
            copies.copy_folder(images.data(task.image), folder / DATA, durable=False)
            yield Prepared(folder, place)

    return Checks(
        prepare=prepare,
        judge=lambda task, instance: judge(instance, task.image, task.turn, Stage(None, ""), afresh=True),
        not_ready=lambda task, instance, outcome: not_ready(instance, task.image, outcome),
        is_right=lambda judgement: judgement.ruling is Ruling.RIGHT,
    )


class _Running(Generic[T, V]):
    """A recovery that has been started."""

    def __init__(self, task: T, checks: Checks[T, V]) -> None:
        self.task = task
        self._checks = checks
        self._held = ExitStack()
        with ExitStack() as starting:
            prepared = starting.enter_context(checks.prepare(task))
            self.folder = prepared.folder
            self.instance = starting.enter_context(Instance.start(task.server, self.folder, task.request, task.log))
            self._probe = Probe(self.instance, Stage(None, ""), prepared.place, task.stuck_after)
            self._held = starting.pop_all()
        self._looking: Future[WatchedRecovery | None] | None = None
        self._end: WatchedRecovery | None = None
        self._judging: Future[V] | None = None

    def result(self, threads: ThreadPoolExecutor) -> CheckedRecovery[T, V] | None:
        """Return the result of the recovery and its check; None while either is in progress."""
        if self._end is None:
            self._look(threads)
            if self._end is not None and self._end.outcome in self._checks.judged_after:
                self._judging = threads.submit(self._checks.judge, self.task, self.instance)
        if self._end is None or (self._judging is not None and not self._judging.done()):
            return None
        if self._judging is not None:
            verdict = self._judging.result()
        else:
            verdict = self._checks.not_ready(self.task, self.instance, self._end.outcome)
        self.instance.end()
        return CheckedRecovery(self.task, self._end, verdict, self.folder)

    def _look(self, threads: ThreadPoolExecutor) -> None:
        """Look at it in a thread: a server that hangs answers no statement for as long as `stuck_after`."""
        if self._looking is None:
            self._looking = threads.submit(end_so_far, self._probe, self.task.settings)
        if self._looking.done():
            looking, self._looking = self._looking, None
            self._end = looking.result()

    def close(self) -> None:
        """End the server and remove its folder."""
        self._held.close()


def _close(running: list[_Running[T, V]]) -> None:
    for each in running:
        each.close()


def recover_checked(
    lab: Lab,
    tasks: Iterable[T],
    checks: Checks[T, V],
    jobs: int,
    done: Callable[[CheckedRecovery[T, V]], None],
) -> None:
    """Recover and check the tasks, `jobs` at once; `done` receives each when it is over, before its files go.

    Only this thread starts servers, because servers end with the thread that started them. Another thread waits for a
    server's answers. Raises `LabError`.
    """
    waiting = list(tasks)
    total, over = len(waiting), 0
    running: list[_Running[T, V]] = []
    with (
        lab.progress.stage(f"checking {total} recoveries, {min(jobs, total)} at a time", "check") as stage,
        ExitStack() as at_end,
    ):
        threads = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="check")
        # Do not wait for the threads: each ends when its server does.
        at_end.callback(threads.shutdown, wait=False, cancel_futures=True)
        at_end.callback(_close, running)
        wrong = 0
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_Running(waiting.pop(0), checks))
            for each in list(running):
                if (checked := each.result(threads)) is None:
                    continue
                done(checked)
                running.remove(each)
                each.close()
                over += 1
                wrong += not checks.is_right(checked.verdict)
            stage.advance(over, total, f"{over} of {total}, {wrong} not right")
            time.sleep(_LOOK)
        stage.outcome = f"{wrong} of {total} not right"
