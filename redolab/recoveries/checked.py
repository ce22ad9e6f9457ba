"""Checked recoveries: for what the recovered server holds, and not for the time. Several at once, nothing settled, nothing cold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.progress import Stage
from redolab.records.recovery import Outcome
from redolab.records.verdict import Judgement
from redolab.recoveries.judge import judge, not_ready
from redolab.recoveries.probe import Probe
from redolab.recoveries.task import RecoveryTask
from redolab.recoveries.watching import WatchedRecovery, looked
from redolab.runs.schema import Ruling
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.states.images import ImageStore, check_format
from redolab.storage.place import Place

_LOOK = 0.01


@dataclass(frozen=True, slots=True)
class CheckedTask:
    """A recovery that is to be checked."""

    number: int
    """Tells it from the others."""
    recovery: RecoveryTask
    log: Path
    """Where its error log goes."""


@dataclass(frozen=True, slots=True)
class CheckedRecovery:
    """What came of one."""

    task: CheckedTask
    end: WatchedRecovery
    judgement: Judgement
    folder: Path
    """The instance's, while it is still there: the server has ended, its files have not gone."""


class _Running:
    """One that has been started."""

    def __init__(self, lab: Lab, task: CheckedTask, images: ImageStore, place: Place) -> None:
        image, server = task.recovery.image, task.recovery.server
        self.task = task
        self.folder = place.folder / "instances" / f"{image.name}-checked-{task.number}"
        self._place = place
        self._held = ExitStack()
        with ExitStack() as starting:
            starting.enter_context(lab.journal.making(self.folder, f"the copy of {image.name} that was being checked"))
            prepare_folder(server, self.folder)
            files.remove(self.folder / DATA)
            copies.copy_folder(images.data(image), self.folder / DATA, durable=False)
            self.instance = starting.enter_context(Instance.start(server, self.folder, task.recovery.request, task.log))
            self._probe = Probe(self.instance, Stage(None, ""), place, task.recovery.stuck_after)
            self._held = starting.pop_all()
        self._end: WatchedRecovery | None = None
        self._judging: Future[Judgement] | None = None

    def result(self, judges: ThreadPoolExecutor) -> CheckedRecovery | None:
        """What came of it; None while it is not over."""
        if self._end is None:
            self._end = looked(self.task.recovery, self.instance, self._probe, self._place)
            if self._end is not None and self._end.outcome is Outcome.READY:
                recovery = self.task.recovery
                self._judging = judges.submit(
                    judge, self.instance, recovery.image, recovery.turn, Stage(None, ""), afresh=True
                )
        if self._end is None or (self._judging is not None and not self._judging.done()):
            return None
        if self._judging is not None:
            judgement = self._judging.result()
        else:
            judgement = not_ready(self.instance, self.task.recovery.image, self._end.outcome)
        self.instance.end()
        return CheckedRecovery(self.task, self._end, judgement, self.folder)

    def close(self) -> None:
        """End it and take it away."""
        self._held.close()


def _close(running: list[_Running]) -> None:
    for each in running:
        each.close()


def recover_checked(
    lab: Lab,
    tasks: Iterable[CheckedTask],
    images: ImageStore,
    place: Place,
    jobs: int,
    done: Callable[[CheckedRecovery], None],
) -> None:
    """Recover and judge them, so many at once; `done` is told of each when it is over, before its files go.

    Servers are started from this thread alone, which is the one with which they die; judges wait for their answers in
    threads of their own. Raises `LabError`, or `InvalidInput` if a server cannot read an image.
    """
    waiting = list(tasks)
    for task in waiting:
        check_format(task.recovery.image, task.recovery.server.name, task.recovery.server.dialect)
    total, over = len(waiting), 0
    running: list[_Running] = []
    with (
        lab.progress.stage(f"checking {total} recoveries, {min(jobs, total)} at a time", "check") as stage,
        ExitStack() as at_end,
    ):
        judges = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="judge")
        # Not waited for: what a judge waits for ends with its server.
        at_end.callback(judges.shutdown, wait=False, cancel_futures=True)
        at_end.callback(_close, running)
        wrong = 0
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_Running(lab, waiting.pop(0), images, place))
            for each in list(running):
                if (checked := each.result(judges)) is None:
                    continue
                done(checked)
                running.remove(each)
                each.close()
                over += 1
                wrong += checked.judgement.ruling is not Ruling.RIGHT
            stage.advance(over, total, f"{over} of {total}, {wrong} not right")
            time.sleep(_LOOK)
        stage.outcome = f"{wrong} of {total} not right"
