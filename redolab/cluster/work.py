"""On a worker: what Dask calls for a task, in the worker's one thread."""

from __future__ import annotations

import signal
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from redolab.cluster.child import CHECK, FAILURE, GROUP, JOB, JOBS
from redolab.cluster.merging import OF_THE_GROUP
from redolab.cluster.task import TOPIC, ClusterJob, Failure, Task, TaskOutcome, WorkerMessage
from redolab.errors import LabError
from redolab.machine import bundle, files, processes
from redolab.machine.processes import Command
from redolab.project import PROJECT
from redolab.runs.store import Run, RunStore
from redolab.units import MIB, format_size

if TYPE_CHECKING:
    from distributed import Worker

_KEPT = "cluster/evidence"
_LARGEST_EVIDENCE = 128 * MIB
"""More of a finding than that is not sent: it goes through the memory of worker, scheduler and client."""
_LOOK = 0.5
"""Seconds from one look at whether the task is still wanted to the next."""
_TO_CLEAN_UP = 60.0
_LAST_LINES = 12


@dataclass
class _Done:
    """What this worker has done for a run and need not do again."""

    checked: bool = False
    known: dict[str, str] = field(default_factory=dict)


_done: dict[str, _Done] = {}


def do(task: bytes) -> bytes:
    """A task as JSON; what came of it as MessagePack. An error of the lab is an outcome too: only what a dead worker had is done again."""
    from distributed import get_worker

    worker = get_worker()
    asked = msgspec.json.decode(task, type=Task)
    topic = f"{TOPIC}-{asked.mark}"

    def say(said: WorkerMessage) -> None:
        worker.log_event(topic, msgspec.to_builtins(said))

    say(WorkerMessage(machine=worker.name))
    try:
        outcome = _outcome(
            asked,
            worker.name,
            _is_wanted(worker, asked.key),
            lambda line: say(WorkerMessage(machine=worker.name, line=line)),
        )
    finally:
        say(WorkerMessage(machine=worker.name, ended=True))
    return msgspec.msgpack.encode(outcome)


def _is_wanted(worker: Worker, key: str) -> Callable[[], bool]:
    """Whether the task of that key is still to be done: nobody cancelled it, the client is there, the worker is not closing."""
    from distributed.core import Status

    def is_wanted() -> bool:
        state = worker.state.tasks.get(key)
        return worker.status in (Status.running, Status.paused) and state is not None and state.state == "executing"

    return is_wanted


def _outcome(task: Task, machine: str, is_wanted: Callable[[], bool], say: Callable[[str], None]) -> TaskOutcome:
    done = _done.setdefault(task.mark, _Done())
    folder = PROJECT.lab / JOBS / uuid.uuid4().hex
    try:
        job = ClusterJob(task=task, check=not done.checked, known=done.known)
        files.write_whole(folder / JOB, msgspec.json.encode(job))
        lines = _run(folder, machine, is_wanted, say)
        if not is_wanted():
            return TaskOutcome(machine=machine, failure=Failure(problem="no longer wanted"))
        group, check = _run_in(folder / GROUP), _run_in(folder / CHECK)
        if group is not None:
            _keep_large_evidence(group, machine, say)
        outcome = TaskOutcome(
            machine=machine,
            group=b"" if group is None else bundle.pack(group.folder, [f"logs/{name}" for name in task.logs]),
            check=b"" if check is None else bundle.pack(check.folder),
            failure=_failure_of_job(folder, lines, is_whole=group is not None),
        )
        if outcome.failure is None and group is not None:
            done.checked, done.known = True, _lines_of_the_machine(group)
        return outcome
    except LabError as error:
        failure = Failure(problem=error.problem, remedy=error.remedy, details=error.details)
        return TaskOutcome(machine=machine, failure=failure)
    finally:
        files.remove(folder)


def _run(folder: Path, machine: str, is_wanted: Callable[[], bool], say: Callable[[str], None]) -> list[str]:
    """Have the lab do the job; the last lines that it printed. It ends early, in order, when nobody wants it any more."""
    command = Command(
        [sys.executable, "-m", "redolab", "do-job", str(folder)],
        folder=PROJECT.root if PROJECT.is_clone else None,
        environment={"REDOLAB_MACHINE": machine, "PYTHONUNBUFFERED": "1"},
    )
    process = processes.start(command, folder / "output.log")
    last: list[str] = []
    status = None
    while status is None:
        for line in process.lines(time.monotonic() + _LOOK):
            last = [*last[-_LAST_LINES:], line.text]
            say(line.text)
            if not is_wanted():
                break
        status = process.wait(0.0) if is_wanted() else process.stop(signal.SIGTERM, _TO_CLEAN_UP)
    for line in process.lines(time.monotonic() + _LOOK):
        last = [*last[-_LAST_LINES:], line.text]
        say(line.text)
    if status:
        files.write_whole(folder / "status", str(status).encode())
    return last


def _failure_of_job(folder: Path, lines: list[str], *, is_whole: bool) -> Failure | None:
    """Why the job failed, in the words of the lab that did it; None if it did not."""
    if (folder / FAILURE).exists():
        return msgspec.json.decode((folder / FAILURE).read_bytes(), type=Failure)
    if (folder / "status").exists() or not is_whole:
        return Failure(problem="the lab there ended before its work was done", details=lines)
    return None


def _run_in(folder: Path) -> Run | None:
    return next(iter(RunStore(folder).all()), None)


def _lines_of_the_machine(group: Run) -> dict[str, str]:
    """What a group's run has noted that is not the group's: it holds for the machine."""
    found = {path.name.removesuffix(".jsonl"): path.read_text() for path in group.folder.glob("*.jsonl")}
    return {name: lines for name, lines in found.items() if name not in OF_THE_GROUP}


def _keep_large_evidence(group: Run, machine: str, say: Callable[[str], None]) -> None:
    """Leave here what is too large to be sent, and say so where it would lie."""
    for path in sorted((group.folder / "evidence").glob("*")):
        size = files.folder_size(path)
        if size <= _LARGEST_EVIDENCE:
            continue
        kept = PROJECT.lab / _KEPT / f"{path.name}-{uuid.uuid4().hex[:8]}"
        files.make_folder(kept.parent)
        files.move(path, kept)
        text = f"{format_size(size)} of evidence stays on {machine}: {kept}"
        files.write_whole(path / "elsewhere.txt", f"{text}\n".encode())
        say(text)
