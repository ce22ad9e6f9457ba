"""Start and resumption of runs of any experiment, and the display of a plan."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Protocol

from redolab.errors import FindingsMade, InvalidInput, LabError, StepsFailed
from redolab.lab import Lab, lab_to_read, open_lab
from redolab.machine.commit import lab_commit
from redolab.machine.description import read_machine
from redolab.progress import Progress
from redolab.runs.bench import find_product
from redolab.runs.estimate import Experience, in_words
from redolab.runs.execution import Execution
from redolab.runs.experiment import Declaration
from redolab.runs.factors import CommonFactors, factors_of
from redolab.runs.failing import how_many
from redolab.runs.loading import load_experiment
from redolab.runs.plan import Plan
from redolab.runs.plan_table import plan_table
from redolab.runs.reporting import write_report
from redolab.runs.resuming import RunProgress
from redolab.runs.room import check_room
from redolab.runs.schema import FailureRecord, Finding, RunState, Session
from redolab.runs.store import Run, RunStore, new_session
from redolab.servers.catalogue import expected_versions
from redolab.units import format_duration, noun

MAKE_VARIABLES = "REDOLAB_MAKE_VARIABLES"
"""Environment variable in which the Makefile passes the variables of `make experiment NAME`."""


class Executor(Protocol):
    """An object that does the remaining steps of a run."""

    @property
    def todo(self) -> Sequence[int]:
        """Indexes of the steps still to be done."""

    @property
    def superseded(self) -> int:
        """Number of trials of earlier sessions that no longer count."""

    def execute(self) -> None:
        """Do the remaining steps. Raises `LabError`."""


def run_experiment(name: str, factors: CommonFactors, progress: Progress) -> None:
    """Run an experiment with these factors, resume a run of it, or only show the plan. Raises `LabError`."""
    if factors.resume is not None:
        check_resumed(factors)
        resume_run(factors.resume, progress, beside_others=factors.beside_others)
        return
    experiment, store = load_experiment(name), RunStore()
    # A plan is drawn and shown even while a run has the machine: it only reads.
    opened = (
        nullcontext(lab_to_read(progress))
        if factors.plan
        else open_lab(progress, store.clear_unfinished, beside_others=factors.beside_others)
    )
    with opened as lab:
        plan = experiment.plan_from(factors, lab)
        bench = experiment.bench(lab, plan)
        every = range(len(plan.steps))
        bench.check(every)
        found = {
            group: product for group in range(len(plan.groups)) if (product := find_product(bench, group)) is not None
        }
        missing = [group for group in range(len(plan.groups)) if group not in found]
        needs = bench.needs(every, missing)
        try:
            check_room(needs)
        except LabError as error:
            if not factors.plan:
                raise
            # Room that is missing now may be free when the run is started.
            progress.note(f"it could not start now: {error}")
        experience = Experience.of_runs(store, read_machine(lab.home))
        how_long = in_words(experience.estimate(plan, every, missing))
        progress.note(
            f"{experiment.step_noun.of(len(plan.steps))}, {experiment.group_noun.of(len(missing))} to make first: {how_long} "
            f"(seed {plan.seed})"
        )
        for remark in needs.remarks:
            progress.note(remark)
        if factors.plan:
            progress.console.print()
            plan_table(plan, found, needs).show(progress.console)
            return
        run = store.create(name, {**factors.in_words(), "seed": str(plan.seed)}, session_here(lab))
        run.write_plan(plan)
        execute_run(store, experiment, run, plan, progress, lambda: Execution(lab, store, run, bench, plan, experience))


def session_here(lab: Lab) -> Session:
    """Return a session that begins now on this machine."""
    return new_session(read_machine(lab.home), lab_commit(), lab.tools.versions(), lab.identity(), expected_versions())


def check_resumed(factors: CommonFactors) -> None:
    """Refuse to show the plan of a run that is resumed. Raises `InvalidInput`."""
    if factors.plan:
        raise InvalidInput("a run that is resumed has its plan already", "'redolab show' prints how far it is")


def resume_run(name: str, progress: Progress, *, beside_others: bool = False) -> None:
    """Resume a stopped run; products that are gone are made anew. Raises `LabError`."""
    store = RunStore()
    with open_lab(progress, store.clear_unfinished, beside_others=beside_others) as lab:
        run = store.get(name)
        experiment, plan = to_resume(run)
        bench, machine = experiment.bench(lab, plan), read_machine(lab.home)
        here = session_here(lab)
        standing = RunProgress(run, bench, plan, here)
        if standing.todo:
            bench.check(standing.todo)
            check_room(bench.needs(standing.todo, standing.to_make()))
        experience = Experience.of_runs(store, machine)
        store.reopen(run, here)
        execute_run(store, experiment, run, plan, progress, lambda: Execution(lab, store, run, bench, plan, experience))


def to_resume(run: Run) -> tuple[type[Declaration], Plan[Any, Any, Any]]:
    """Return a run's experiment and plan. Raises `InvalidInput` if the run is complete or has no plan."""
    experiment = load_experiment(run.record().experiment)
    if run.record().state is RunState.COMPLETE:
        raise InvalidInput(f"the run {run.name} is complete", "'redolab show' prints it")
    return experiment, run.plan(experiment.plan_type)


def report_again(name: str, progress: Progress) -> None:
    """Make the tables and plots of a run again from its records, and show the tables. Raises `LabError`."""
    run = RunStore().get(name)
    if not run.trial_count():
        raise InvalidInput(f"the run {run.name} has no trial to report", "'redolab runs' lists the others")
    _report(load_experiment(run.record().experiment), run, progress)


def given_to_make(factors: type[CommonFactors]) -> dict[str, str]:
    """Return field → text of the variables of `make experiment NAME`. Raises `InvalidInput` for an unknown one."""
    variables = {each.variable: each.name for each in factors_of(factors)}
    given = {}
    try:
        assigned = shlex.split(os.environ.get(MAKE_VARIABLES, ""))
    except ValueError as error:
        raise InvalidInput(f"the variables cannot be told apart ({error})", "mind the quotes") from error
    for word in assigned:
        variable, _, value = word.partition("=")
        if variable not in variables:
            known = ", ".join(variables)
            raise InvalidInput(f"{variable}= means nothing to this experiment", f"it knows {known}")
        given[variables[variable]] = value
    return given


def execute_run(
    store: RunStore,
    experiment: type[Declaration],
    run: Run,
    plan: Plan[Any, Any, Any],
    progress: Progress,
    begin: Callable[[], Executor],
) -> None:
    """Do the remaining steps of a run and report it.

    Raises `LabError`; `StepsFailed` or `FindingsMade` after a full report.

    `begin` is called once the run is marked as running.
    """
    try:
        with store.running(run, progress.seconds):
            execution = begin()
            done = len(plan.steps) - len(execution.todo)
            if len(run.record().sessions) > 1:
                progress.note(
                    f"the run {run.name} goes on: {done} of {experiment.step_noun.of(len(plan.steps))} are done"
                )
                if execution.superseded:
                    which = experiment.step_noun.of(execution.superseded)
                    progress.note(f"{which} measured before not counted: on what is gone or on another machine")
            execution.execute()
    except BaseException:
        if run.folder.exists() and run.trial_count():
            try:
                _report(experiment, run, progress)
            except Exception as error:
                progress.note(f"and its table could not be written: {error}")
        raise
    if run.trial_count():
        _report(experiment, run, progress)
    shares = " · ".join(f"{kind} {format_duration(seconds)}" for kind, seconds in progress.seconds.items())
    progress.note(f"time: {shares}")
    progress.note(f"everything is in {run.folder}")
    findings = run.findings()
    if failures := run.failures():
        raise _failed(experiment, run, plan, failures, findings)
    if findings:
        what = f"{noun(len(findings), 'finding')} in {experiment.step_noun.of(len(plan.steps))}"
        raise FindingsMade(what, f"the evidence is in {run.folder}")


def _report(experiment: type[Declaration], run: Run, progress: Progress) -> None:
    try:
        with progress.stage("writing tables and plots"):
            reported = write_report(experiment, run)
    except LabError:
        raise
    except Exception as error:
        # The trials are kept, and the run keeps its state: a report can be made again.
        raise LabError(
            f"the run {run.name} is measured, and its tables could not be made ({type(error).__name__}: {error})",
            f"'redolab report {run.name}' makes them again",
        ) from error
    progress.console.print()
    reported.show(progress.console)
    if reported.details:
        progress.note(
            f"{', '.join(table.title.lower() for table in reported.details)}: 'redolab show {run.name} --all'"
        )
    for problem in reported.failed:
        progress.note(f"{problem}: 'redolab report {run.name}' draws it again")


def _failed(
    experiment: type[Declaration],
    run: Run,
    plan: Plan[Any, Any, Any],
    failures: Sequence[FailureRecord],
    findings: Sequence[Finding],
) -> StepsFailed:
    last = failures[-1]
    which = "the last: " * (len(failures) > 1)
    also = f", and there {'are' if len(findings) > 1 else 'is'} {noun(len(findings), 'finding')}" if findings else ""
    return StepsFailed(
        f"{how_many(failures, experiment, plan)} ({which}{last.in_words()}){also}",
        f"'--resume {run.name}' tries again",
        last.details,
    )
