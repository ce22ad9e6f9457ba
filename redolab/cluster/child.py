"""A machine's lab at work on one task: a process of its own, as signals and the death of its servers belong to a main thread."""

from __future__ import annotations

import sys
from collections.abc import Collection
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec

from redolab import __version__
from redolab.cluster.task import ClusterJob, Failure, Task
from redolab.errors import LabError, StepsFailed
from redolab.lab import Lab, open_lab
from redolab.machine import files
from redolab.machine.commit import lab_commit
from redolab.progress import Progress
from redolab.runs.beginning import session_here
from redolab.runs.estimate import Experience
from redolab.runs.execution import Execution
from redolab.runs.experiment import Experiment, load_experiment
from redolab.runs.factors import read_factors
from redolab.runs.plan import Plan
from redolab.runs.room import check_room
from redolab.runs.store import RunStore

JOB, FAILURE = "job.json", "failure.json"
GROUP, CHECK = "group", "check"
"""Folders of runs in a job's folder."""
JOBS = "cluster/jobs"
"""In the lab's folder: a folder for each job, gone when its outcome is known."""


def do_job_in(folder: Path, progress: Progress) -> None:
    """Do the job in a folder, and leave its runs there; an error of the lab is left there too, and ends with status 1."""
    try:
        _do_job(folder, progress)
    except LabError as error:
        failure = Failure(problem=error.problem, remedy=error.remedy, details=error.details)
        files.write_whole(folder / FAILURE, msgspec.json.encode(failure))
        sys.exit(1)


def _do_job(folder: Path, progress: Progress) -> None:
    job = msgspec.json.decode((folder / JOB).read_bytes(), type=ClusterJob)
    task = job.task
    _check_version(task)
    experiment = load_experiment(task.experiment)
    plan = msgspec.json.decode(task.plan, type=experiment.plan_type())
    factors = read_factors(experiment.factors(), task.options)
    with open_lab(progress, RunStore().clear_unfinished, beside_others=factors.beside_others) as lab:
        _clear_others(folder, lab)
        if job.check:
            assert experiment.check is not None
            check = experiment.plan(experiment.check.factors(factors), lab)
            progress.note(f"check cell: {experiment.check.name}")
            _measure(lab, folder / CHECK, experiment, check, job, only=range(len(check.groups)))
        _measure(lab, folder / GROUP, experiment, plan, job, only=[task.group])


def _check_version(task: Task) -> None:
    here = (__version__, lab_commit())
    if here != (task.version, task.commit):
        raise LabError(
            f"the lab there is {_named(*here)}, and {_named(task.version, task.commit)} asks",
            "bring both to one commit, and start the worker again",
        )


def _named(number: str, commit: str) -> str:
    return f"{number} at commit {commit or 'unknown'}"


def _measure(
    lab: Lab, folder: Path, experiment: Experiment, plan: Plan[Any, Any, Any], job: ClusterJob, *, only: Collection[int]
) -> None:
    """Make these groups and measure their steps, in a run of that folder. Raises `LabError`."""
    bench, store = experiment.bench(lab, plan), RunStore(folder)
    positions = [position for group in only for position in plan.positions(group)]
    bench.check(positions)
    check_room(bench.needs(positions, [group for group in only if bench.find(group, None) is None]))
    lab.progress.seconds.clear()
    session = session_here(lab)
    run = store.create(job.task.experiment, {**job.task.options, "seed": str(plan.seed)}, session)
    run.write_plan(plan)
    if folder.name == GROUP:
        for name, lines in job.known.items():
            files.write_whole(run.folder / f"{name}.jsonl", lines.encode())
        for name in job.task.logs:
            # Taken, so that this attempt's logs get other names.
            files.write_whole(run.folder / "logs" / name, b"")
    # Too many failures stop this machine's work, and what is recorded of them arrives like any group.
    with suppress(StepsFailed) if folder.name == GROUP else nullcontext(), store.running(run, lab.progress.seconds):
        Execution(lab, store, run, bench, plan, Experience(), only=only).execute()


def _clear_others(folder: Path, lab: Lab) -> None:
    """Remove what jobs have left whose worker was killed; also what they made, where it was not to be kept."""
    # Not of the folder that was given: one elsewhere lies among things that are not the lab's.
    jobs = lab.folder / JOBS
    for name in files.names(jobs):
        other = jobs / name
        if other.resolve() == folder.resolve():
            continue
        for run in [*RunStore(other / GROUP).all(), *RunStore(other / CHECK).all()]:
            experiment = load_experiment(run.record().experiment)
            plan = run.plan(experiment.plan_type())
            made = [record.name for record in run.group_records() if record.made and record.name]
            for each in made if not plan.keep else ():
                experiment.bench(lab, plan).remove(each, run)
        files.remove(other)
        lab.progress.note("a worker was killed and left a job half done: cleaned up")
