"""Visits of the lab to other machines: it is brought there, works, is watched from here, and its runs come back."""

from __future__ import annotations

import platform
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console

from redolab.errors import Interrupted, InvalidInput, LabError
from redolab.lab import open_lab, servers_of
from redolab.machine import files
from redolab.machine.lab_folder import claim_lab_folder
from redolab.machine.lock import locked
from redolab.machines.remote.address import MachineAddress, known_machines, note_machine
from redolab.machines.remote.machine import LAB_FOLDER, RemoteJob, RemoteMachine, asker, reached
from redolab.machines.remote.ssh import ConnectionLost
from redolab.machines.remote.uploads import lab_paths, packed_packages, user_paths
from redolab.machines.virtual.vagrant import Guest
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.report.table import ReportTable
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue
from redolab.servers.sources.folder import FolderSource

MACHINES = "machines"
"""Folder, in the lab's folder, of packages for other machines."""
_AT_ONCE = 16
"""Machines that are asked at a time."""


def run_there(address: MachineAddress, arguments: Sequence[str], servers: Sequence[str], progress: Progress) -> int:
    """Run `redolab ARGUMENTS` on another machine as it would run here; return its exit status.

    `servers`: names of the servers it needs, which are copied along unpacked. Ctrl-C stops the job there. Raises
    `LabError`, and `ConnectionLost` if the job goes on without us.
    """
    if address.is_guest:
        Guest(address.provider).up(progress)
    _let_ctrl_c_raise()
    with reached(address, progress) as machine:
        if problem := machine.facts.problem:
            raise InvalidInput(f"{machine.host}: {problem}", "mend that, or name another folder: ssh:HOST:/some/folder")
        with machine.alone():
            # Noted first: what is copied is there from now on, whatever comes.
            note_machine(address)
            _bring_all(machine, servers, progress)
            try:
                job = machine.start(arguments)
            except KeyboardInterrupt:
                raise Interrupted(f"it may run on {machine.host}: 'redolab attach {address}' tells") from None
        return _attend(machine, job, progress)


def attach(address: MachineAddress, progress: Progress) -> int:
    """Show a machine's last job again, and fetch its runs at its end; return its exit status. Raises `LabError`."""
    _let_ctrl_c_raise()
    with reached(address, progress) as machine:
        jobs = machine.jobs()
        if not jobs:
            raise InvalidInput(f"nothing was started on {address.host}", "'redolab machines' lists what runs where")
        *before, last = jobs
        for each in before:
            if not each.fetched and each.by == asker():
                fetch_runs(machine, each, progress)
        progress.note(f"redolab {' '.join(last.arguments)}, by {last.by}, since {last.started}")
        return _attend(machine, last.id, progress)


def clean(address: MachineAddress, progress: Progress) -> None:
    """Remove all that the lab has left on a machine. Raises `LabError`."""
    with reached(address, progress) as machine:
        if not machine.facts.is_ours:
            raise InvalidInput(
                f"{address.host}: {machine.facts.folder} is no folder of the lab's", "nothing was removed"
            )
        with machine.alone():
            _check_fetched(machine)
            with progress.stage(f"removing {machine.facts.folder} on {address.host}"):
                machine.remove_lab()
        note_machine(address, gone=True)


def check_fetched(address: MachineAddress, progress: Progress) -> None:
    """Raise `InvalidInput` if a run measured on a machine exists nowhere else yet, `Busy` if one is in progress."""
    with reached(address, progress) as machine:
        if machine.facts.is_ours:
            with machine.alone():
                _check_fetched(machine)


def machines_table(progress: Progress) -> ReportTable:
    """Return a table of the jobs on each machine.

    All machines are asked at once: giving up on one that is switched off takes half a minute.
    """
    with progress.stage("asking the machines", brief=True), ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        rows = list(pool.map(_row, known_machines()))
    titles = ("machine", "what runs there", "since", "asked by")
    return ReportTable("Machines", [(title, False) for title in titles], rows, [])


def _row(address: MachineAddress) -> tuple[str, ...]:
    try:
        with reached(address, Progress(Console(quiet=True))) as machine:
            jobs = machine.jobs()
    except LabError as error:
        return (address.name, error.problem, "", "")
    if not jobs:
        return (address.name, "nothing", "", "")
    last = jobs[-1]
    what = f"redolab {' '.join(last.arguments)}{'' if last.alive else ' (ended)'}"
    return (address.name, what, last.started, last.by)


def _check_fetched(machine: RemoteMachine) -> None:
    for each in machine.jobs():
        if not each.fetched and machine.runs(each.id):
            raise InvalidInput(
                f"{machine.host}: what '{' '.join(each.arguments)}' measured there was not fetched yet",
                f"'redolab attach {machine.address}' fetches it"
                if each.by == asker()
                else f"{each.by} can fetch it; or remove {machine.facts.folder} there by hand",
            )


def _bring_all(machine: RemoteMachine, servers: Sequence[str], progress: Progress) -> None:
    """Copy the lab, its packages, these servers and the user's own files to the machine."""
    folder = PROJECT.lab / MACHINES
    claim_lab_folder(PROJECT.lab)
    files.make_folder(folder)
    with locked(folder / ".packing"):
        packages = packed_packages(folder / "packages", machine.facts, progress)
        machine.bring([f"{packages}/"], "packages", "the lab's packages", progress)
        machine.bring(lab_paths(folder), "lab", "the lab", progress, "build", "tests", "*.local.*")
    machine.remove("own")
    if own := user_paths():
        machine.bring(own, "own", "your servers, storage profiles and experiments", progress)
    # A machine of another architecture fetches its servers itself.
    for name in servers if machine.facts.processor == platform.machine() else ():
        entry, store = server_catalogue().get(name), servers_of(PROJECT.lab)
        if isinstance(entry.source, FolderSource):
            continue
        if store.installed(name, entry) is None:
            with open_lab(progress, list) as lab:
                lab.server(name)
        # All of them: a run that goes on there may have been planned with another than the one expected.
        for each in store.versions(name):
            machine.bring([f"{each.folder}/"], f"{LAB_FOLDER}/servers/{each.folder.name}", each.folder.name, progress)


def _attend(machine: RemoteMachine, job_id: str, progress: Progress) -> int:
    """Show a job's output until it has ended, and fetch its runs; return its exit status. Raises `LabError`."""
    try:
        _show(machine, job_id)
        ended = machine.job(job_id)
        fetch_runs(machine, ended, progress)
    except ConnectionLost as lost:
        raise ConnectionLost(lost.problem, f"the job goes on there: 'redolab attach {machine.address}'") from lost
    except KeyboardInterrupt:
        raise Interrupted(f"the job on {machine.host} is left to itself: 'redolab attach {machine.address}'") from None
    if ended.status is None or ended.status < 0:
        raise LabError(
            f"{machine.host} went down, its disk is full, or the lab there was killed",
            "what it had measured is fetched",
        )
    return ended.status


def _show(machine: RemoteMachine, job_id: str) -> None:
    """Print a job's output here until the job has ended. Ctrl-C has it end; a second one leaves it to itself."""
    stopping = False
    with machine.showing(job_id) as program:
        while True:
            try:
                program.wait()
                return
            except KeyboardInterrupt:
                if stopping:
                    raise
                stopping = True
                machine.stop(job_id)


def fetch_runs(machine: RemoteMachine, job: RemoteJob, progress: Progress) -> None:
    """Fetch the runs of a job that has ended, and note on the machine that its owner has them.

    Incomplete runs stay in a side folder, so that they do not pass for results. After a lost connection the next call
    continues.
    """
    if names := machine.runs(job.id):
        apart = PROJECT.runs / f".fetching-{machine.host}-{job.id}"
        files.make_folder(apart)
        with progress.stage(f"fetching the run from {machine.host}", brief=True):
            machine.fetch(names, apart)
        for name in names:
            progress.note(f"fetched from {machine.host}: {_place(Run(apart / name))}")
        files.remove(apart)
    if job.by == asker():
        machine.note_fetched(job.id)


def _place(fetched: Run) -> Path:
    """Put a run among the runs here, in place of an earlier, incomplete copy; return its folder."""
    to, number = PROJECT.runs / fetched.name, 1
    while to.exists() and not _goes_on_with(fetched, Run(to)):
        number += 1
        to = PROJECT.runs / f"{fetched.name}-{number}"
    if to.exists():
        files.move(to, fetched.folder.with_name(f"{fetched.name}.before"))
    files.move(fetched.folder, to)
    return to


def _goes_on_with(fetched: Run, here: Run) -> bool:
    """Return True if the fetched run contains all sessions of the copy here, which has not gone on here since."""
    known = [session.began for session in here.record().sessions]
    return known == [session.began for session in fetched.record().sessions][: len(known)]


def _let_ctrl_c_raise() -> None:
    # A script may have started us in the background, with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
