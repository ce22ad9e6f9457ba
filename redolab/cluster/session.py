"""Starting and resuming runs that a cluster measures: the plan is drawn here, the run lies here, the machines are elsewhere."""

from __future__ import annotations

from contextlib import ExitStack

from redolab.cluster.address import ClusterAddress
from redolab.cluster.execution import Cluster, ClusterExecution, connected
from redolab.errors import InvalidInput
from redolab.lab import Lab, lab_to_read, native_folder, open_lab
from redolab.machine.commit import lab_commit
from redolab.machine.description import read_machine
from redolab.machine.interrupts import unwinding
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.runs.beginning import session_here
from redolab.runs.experiment import Experiment, load_experiment
from redolab.runs.factors import CommonFactors
from redolab.runs.plan_table import plan_table
from redolab.runs.room import Needs
from redolab.runs.schema import Session
from redolab.runs.session import Executor, check_resumed, execute_run, to_resume
from redolab.runs.store import RunStore, new_session


def run_on_cluster(name: str, factors: CommonFactors, address: ClusterAddress, progress: Progress) -> None:
    """Run an experiment on the machines of a cluster, go on with a run there, or only show the plan. Raises `LabError`."""
    if factors.resume is not None:
        check_resumed(factors)
        _resume(factors.resume, address, progress, beside_others=factors.beside_others)
        return
    experiment = load_experiment(name)
    _check_can_go(name, experiment)
    if factors.plan:
        plan = experiment.plan(factors, lab_to_read(progress))
        progress.console.print()
        plan_table(plan, {}, Needs()).show(progress.console)
        return
    _start(name, experiment, factors, address, progress)


def _start(
    name: str, experiment: Experiment, factors: CommonFactors, address: ClusterAddress, progress: Progress
) -> None:
    store = RunStore()
    with unwinding(), connected(address) as cluster, ExitStack() as held:
        lab = held.enter_context(open_lab(progress, store.clear_unfinished))
        plan = experiment.plan(factors, lab)
        options = {**factors.in_words(), "seed": str(plan.seed)}
        progress.note(
            f"{experiment.step.of(len(plan.steps))}, {experiment.group.of(len(plan.groups))} to make first, on "
            f"{_words(cluster)} (seed {plan.seed})"
        )
        run = store.create(name, options, _own_session(lab))
        run.write_plan(plan)

        def begin() -> Executor:
            # This machine is given back once the run is known to be running: it may be one of those that measure.
            held.close()
            return ClusterExecution(cluster, run, plan, name, experiment, options, progress)

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
    with unwinding(), connected(address) as cluster:
        machine = read_machine(native_folder(PROJECT.lab))
        store.reopen(run, new_session(machine, lab_commit(), {}))
        execute_run(
            store,
            experiment,
            run,
            plan,
            progress,
            lambda: ClusterExecution(cluster, run, plan, record.experiment, experiment, options, progress),
        )


def _own_session(lab: Lab) -> Session:
    """Of this machine, which asks and measures nothing."""
    return session_here(lab)


def _check_can_go(name: str, experiment: Experiment) -> None:
    if experiment.check is None:
        raise InvalidInput(
            f"the experiment {name} has no check cell, which says how alike machines are",
            "run it on one machine: MACHINE=ssh:HOST, or here",
        )


def _words(cluster: Cluster) -> str:
    """As in `3 machines (db-1, db-2, db-3)`."""
    names = cluster.machines()
    what = f"{len(names)} machine{'s' * (len(names) != 1)}"
    return f"{what} ({', '.join(names)})" if names else what
