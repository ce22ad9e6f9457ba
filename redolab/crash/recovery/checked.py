"""Recoveries that are checked for their content and not timed: several at once, on a warm and busy disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
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
from redolab.crash.recovery.watching import watch_recovery
from redolab.disks.place import Place
from redolab.errorlog.watch import STUCK_AFTER
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.progress import Stage
from redolab.runs.schema import Ruling
from redolab.servers.dialects import InstanceRequest
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder

_LOOK = 0.2
"""Seconds after which the progress is shown anew."""


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
    check: Callable[[T, Instance, Outcome], V]
    """Function that checks the server after a recovery with that outcome; called in the recovery's thread."""
    is_right: Callable[[V], bool]


@dataclass(frozen=True, slots=True)
class CheckedRecovery(Generic[T, V]):
    """Result of one checked recovery."""

    task: T
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

    def check(task: ImageTask, instance: Instance, outcome: Outcome) -> Judgement:
        if outcome is Outcome.READY:
            return judge(instance, task.image, task.turn, Stage(None, ""), afresh=True)
        return not_ready(instance, task.image, outcome)

    return Checks(prepare, check, is_right=lambda judgement: judgement.ruling is Ruling.RIGHT)


def recover_checked(
    lab: Lab,
    tasks: Sequence[T],
    checks: Checks[T, V],
    jobs: int,
    done: Callable[[CheckedRecovery[T, V]], None],
) -> None:
    """Recover and check the tasks, `jobs` at once; `done` receives each when it is over, before its files go.

    Only this thread starts servers, because servers end with the thread that started them. Each recovery is watched and
    checked in a thread of its own: a server that hangs answers no statement for as long as `stuck_after`. Raises
    `LabError`.
    """
    waiting, total = deque(tasks), len(tasks)
    over = wrong = 0
    running: dict[Future[CheckedRecovery[T, V]], ExitStack] = {}
    with (
        lab.progress.stage(f"checking {total} recoveries, {min(jobs, total)} at a time", "check") as stage,
        ExitStack() as at_end,
    ):
        threads = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="check")
        # Do not wait for the threads: each ends when its server does.
        at_end.callback(threads.shutdown, wait=False, cancel_futures=True)
        while waiting or running:
            while waiting and len(running) < jobs:
                task, server = waiting.popleft(), at_end.enter_context(ExitStack())
                prepared = server.enter_context(checks.prepare(task))
                instance = server.enter_context(Instance.start(task.server, prepared.folder, task.request, task.log))
                probe = Probe(instance, Stage(None, ""), prepared.place, task.stuck_after)
                running[threads.submit(_checked, task, checks, probe)] = server
            ended, _ = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)
            for future in ended:
                checked = future.result()
                done(checked)
                running.pop(future).close()
                over += 1
                wrong += not checks.is_right(checked.verdict)
            stage.advance(over, total, f"{over} of {total}, {wrong} not right")
        stage.outcome = f"{wrong} of {total} not right"


def _checked(task: T, checks: Checks[T, V], probe: Probe) -> CheckedRecovery[T, V]:
    """Watch a recovery that was started to its end, check the server, and end it."""
    instance = probe.instance
    end = watch_recovery(probe, task.settings)
    verdict = checks.check(task, instance, end.outcome)
    instance.end()
    return CheckedRecovery(task, verdict, instance.folder)
