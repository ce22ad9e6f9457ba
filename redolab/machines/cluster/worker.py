"""Measurement of one group of a plan on a machine of a cluster: a worker's thread, and a process of its own below it.

Signals, and the end of servers with the lab, need a main thread, and Dask calls its tasks in another.
"""

from __future__ import annotations

import math
import sys
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from redolab import __version__
from redolab.errors import LabError, StepsFailed
from redolab.lab import Lab, open_lab
from redolab.machine import bundle, files, processes
from redolab.machine.commit import lab_commit
from redolab.machine.processes import Command
from redolab.machines.cluster.merging import GROUP_LINES
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.runs.bench import KeepsProducts, find_product
from redolab.runs.estimate import Experience
from redolab.runs.execution import Execution
from redolab.runs.experiment import Declaration
from redolab.runs.factors import read_factors
from redolab.runs.loading import load_experiment
from redolab.runs.plan import Plan
from redolab.runs.room import check_room
from redolab.runs.session import session_here
from redolab.runs.store import Run, RunStore
from redolab.units import MIB, format_size

if TYPE_CHECKING:
    from distributed import Worker

JOBS = "cluster/jobs"
"""Folder of the jobs in the lab's folder: one folder a job, removed when its outcome is known."""
JOB, GROUP, CHECK = "job.json", "group", "check"
"""Names in a job's folder: the job, and the folders of its runs."""
_EVIDENCE = "cluster/evidence"
_LARGEST_EVIDENCE = 128 * MIB
"""Bytes of evidence above which it is not sent: it would pass through the memory of worker, scheduler and client."""
_LAST_LINES = 12
_ERROR = "redolab: "
"""Beginning of the line in which the lab says its error."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A group of a plan, to be made and measured on whichever machine takes it."""

    mark: str
    """Mark of the run's session, and Dask's topic for it: a machine does its preparation once for each mark."""
    experiment: str
    options: Mapping[str, str]
    """Options that were given, as texts of the experiment's factors."""
    plan: str
    """Whole plan as JSON: positions, and the names made of them, are the same on every machine."""
    group: int
    lab: str
    """Version of the lab that asks; no other measures for it."""
    logs: Sequence[str]
    """Names of logs that the run has already, of an attempt that no longer counts."""
    known: Mapping[str, str] | None = None
    """Facts about the machine from earlier groups, as fio's: name → lines of `NAME.jsonl`. None: check it first."""


@dataclass(frozen=True, kw_only=True)
class TaskOutcome:
    """Outcome of a task: runs as `redolab.machine.bundle` packs them. A `LabError` is no exception for Dask."""

    machine: str
    group: bytes = b""
    check: bytes = b""
    failure: LabError | None = None


_known: dict[str, dict[str, str]] = {}
"""Mark → what this worker knows of its machine from groups of that run."""


def lab_version() -> str:
    """Return number and commit of the lab here."""
    return f"{__version__}, commit {lab_commit() or 'unknown'}"


def do(task: Task) -> TaskOutcome:
    """Carry out Dask's request in the worker's single thread.

    Each line that the lab prints goes to the topic of the run; None when the work has ended.
    """
    from distributed import get_worker

    worker, folder = get_worker(), PROJECT.lab / JOBS / uuid.uuid4().hex

    def say(line: str | None) -> None:
        worker.log_event(task.mark, {"machine": worker.name, "line": line})

    say("")
    try:
        job = msgspec.structs.replace(task, known=_known.get(task.mark))
        files.write_whole(folder / JOB, msgspec.json.encode(job))
        failure = _run(folder, worker, say)
        group, check = (next(iter(RunStore(folder / name).all()), None) for name in (GROUP, CHECK))
        if group is not None:
            _keep_large_evidence(group, worker.name, say)
            if failure is None:
                lines = {path.stem: path.read_text() for path in group.folder.glob("*.jsonl")}
                _known[task.mark] = {name: text for name, text in lines.items() if name not in GROUP_LINES}
        return TaskOutcome(
            machine=worker.name,
            group=b"" if group is None else bundle.pack(group.folder, [f"logs/{name}" for name in task.logs]),
            check=b"" if check is None else bundle.pack(check.folder),
            failure=failure,
        )
    except LabError as error:
        return TaskOutcome(machine=worker.name, failure=error)
    finally:
        files.remove(folder)
        say(None)


def _run(folder: Path, worker: Worker, say: Callable[[str], None]) -> LabError | None:
    """Start the lab on the job. Return the error if it failed.

    The job ends early, in order, when nobody wants it: the task was cancelled, its client is gone, or the worker is
    closing.
    """
    from distributed.core import Status

    command = Command(
        [sys.executable, "-m", "redolab", "do-job", str(folder)],
        folder=PROJECT.root if PROJECT.is_clone else None,
        environment={"REDOLAB_MACHINE": worker.name, "PYTHONUNBUFFERED": "1"},
    )
    key, lines = worker.get_current_task(), list[str]()

    def is_wanted() -> bool:
        state = worker.state.tasks.get(key)
        is_executing = state is not None and state.state == "executing"
        return is_executing and worker.status in (Status.running, Status.paused)

    def on_line(line: str) -> None:
        lines.append(line)
        if not any(each.startswith(_ERROR) for each in lines):
            say(line)

    status = processes.run_by_lines(command, folder / "output.log", on_line, math.inf, is_wanted=is_wanted)
    if status == 0:
        return None
    error = next((number for number, line in enumerate(lines) if line.startswith(_ERROR)), None)
    if error is None:
        return LabError("the lab there ended before its work was done", details=lines[-_LAST_LINES:])
    return LabError(lines[error].removeprefix(_ERROR), details=[line.strip() for line in lines[error + 1 :]])


def _keep_large_evidence(group: Run, machine: str, say: Callable[[str], None]) -> None:
    """Keep evidence here if it is too large to be sent, and leave a note in its place."""
    for path in sorted((group.folder / "evidence").glob("*")):
        if (size := files.folder_size(path)) > _LARGEST_EVIDENCE:
            evidence = PROJECT.lab / _EVIDENCE / f"{path.name}-{uuid.uuid4().hex[:8]}"
            files.move(path, evidence)
            text = f"{format_size(size)} of evidence stays on {machine}: {evidence}"
            files.write_whole(path / "elsewhere.txt", f"{text}\n".encode())
            say(text)


def do_job_in(folder: Path, progress: Progress) -> None:
    """Carry out the job in a folder, in the process below the worker, and leave its runs there. Raises `LabError`."""
    task = msgspec.json.decode((folder / JOB).read_bytes(), type=Task)
    if task.lab != (here := lab_version()):
        remedy = "bring both to one commit, and start the worker again"
        raise LabError(f"the lab there is {here}, and {task.lab} asks", remedy)
    experiment = load_experiment(task.experiment)
    plan = msgspec.json.decode(task.plan, type=experiment.plan_type)
    factors = read_factors(experiment.factors_type, task.options)
    with open_lab(progress, RunStore().clear_unfinished, beside_others=factors.beside_others) as lab:
        clear_other_jobs(folder, lab)
        if task.known is None:
            assert experiment.check_cell is not None
            check = experiment.plan_from(experiment.check_cell.factors(factors), lab)
            progress.note(f"check cell: {experiment.check_cell.name}")
            _measure(lab, folder / CHECK, experiment, check, task, only=range(len(check.groups)))
        _measure(lab, folder / GROUP, experiment, plan, task, only=[task.group])


def _measure(
    lab: Lab,
    folder: Path,
    experiment: type[Declaration],
    plan: Plan[Any, Any, Any],
    task: Task,
    *,
    only: Collection[int],
) -> None:
    """Make these groups and measure their steps, in a run of that folder. Raises `LabError`."""
    bench, store = experiment.bench(lab, plan), RunStore(folder)
    positions = [position for group in only for position in plan.positions(group)]
    bench.check(positions)
    check_room(bench.needs(positions, [group for group in only if find_product(bench, group) is None]))
    lab.progress.seconds.clear()
    run = store.create(task.experiment, {**task.options, "seed": str(plan.seed)}, session_here(lab))
    run.write_plan(plan)
    if folder.name == GROUP:
        for name, lines in (task.known or {}).items():
            files.write_whole(run.folder / f"{name}.jsonl", lines.encode())
        for name in task.logs:
            # Taken, so that this attempt's logs get other names.
            files.write_whole(run.folder / "logs" / name, b"")
    # Too many failures stop this machine's work, and what is recorded of them arrives like any group.
    with suppress(StepsFailed) if folder.name == GROUP else nullcontext(), store.running(run, lab.progress.seconds):
        Execution(lab, store, run, bench, plan, Experience(), only=only).execute()


def clear_other_jobs(folder: Path, lab: Lab) -> None:
    """Remove remains of jobs whose worker was killed, including their products unless they were to be kept."""
    # Clean only the lab's own folder: the given folder may lie among files of others.
    jobs = lab.folder / JOBS
    for name in files.names(jobs):
        other = jobs / name
        if other.resolve() == folder.resolve():
            continue
        for run in [*RunStore(other / GROUP).all(), *RunStore(other / CHECK).all()]:
            experiment = load_experiment(run.record().experiment)
            plan = run.plan(experiment.plan_type)
            bench = experiment.bench(lab, plan)
            if isinstance(bench, KeepsProducts) and not plan.keep:
                for product in [record.name for record in run.group_records() if record.made and record.name]:
                    bench.remove(product, run)
        files.remove(other)
        lab.progress.note("a worker was killed and left a job half done: cleaned up")
