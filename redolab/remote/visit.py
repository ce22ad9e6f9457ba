"""A visit of the lab to another machine: it is brought there, works, is watched from here, and its runs come back."""

from __future__ import annotations

import hashlib
import platform
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from redolab.errors import Interrupted, InvalidInput, LabError
from redolab.lab import open_lab, servers_of
from redolab.machine.clean_up_journal import Journal
from redolab.machine.lab_folder import claim_lab_folder
from redolab.machine.lock import locked
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.remote.address import MachineAddress, VagrantAddress
from redolab.remote.fetching import Fetching
from redolab.remote.luggage import LAB_FOLDER, Luggage, Packing, own_experiments
from redolab.remote.machine import OtherMachine, RemoteJob, asker, own_files, reached
from redolab.remote.machine_list import KnownMachines
from redolab.remote.ssh import ConnectionLost
from redolab.servers.catalogue import server_catalogue
from redolab.servers.sources.folder import FolderSource
from redolab.virtual.vagrant import Guest

MACHINES = "machines"
"""In the lab's folder: what is packed for other machines."""
_EVERY = 10.0
"""Seconds from one look at what a run has left to the next."""
_CHUNK = 1 << 16


def run_there(address: MachineAddress, arguments: Sequence[str], servers: Sequence[str], progress: Progress) -> int:
    """Run `redolab ARGUMENTS` on another machine as it would run here; its exit status.

    `servers` are the names of those that it will want: they are brought along unpacked. Ctrl-C stops it there. Raises `LabError`,
    and `ConnectionLost` where it goes on without us.
    """
    if isinstance(address, VagrantAddress):
        Guest.of_settings(address.provider).up(progress)
    with _ctrl_c_raises(), reached(address, progress) as machine:
        machine.facts.check(machine.host)
        with machine.alone():
            # Noted first: what is copied is there from now on, whatever comes.
            _machine_list().add(address)
            lab, packages, experiments = _brought(machine, servers, progress)
            try:
                job = machine.start(lab, packages, arguments, experiments)
            except KeyboardInterrupt:
                raise Interrupted(f"it may run on {machine.host}: 'redolab attach {address}' tells") from None
        return _attend(machine, job, progress)


def attach(address: MachineAddress, progress: Progress) -> int:
    """Take up the last job of a machine again: what it prints, and its runs when it has ended; its exit status. Raises `LabError`."""
    with _ctrl_c_raises(), reached(address, progress) as machine:
        jobs = machine.jobs()
        if not jobs:
            raise InvalidInput(f"nothing was started on {address.host}", "'redolab machines' lists what runs where")
        *before, last = jobs
        for each in before:
            if not each.fetched and each.by == asker():
                _fetch(machine, each.id, progress)
        progress.note(f"redolab {' '.join(last.arguments)}, by {last.by}, since {last.started}")
        return _attend(machine, last.id, progress)


def known_machines() -> list[MachineAddress]:
    """The machines that the lab was on from here, the one that was used last at the end."""
    return _machine_list().all()


def forget(address: MachineAddress) -> None:
    """Note that a machine is gone, and what the lab had there with it."""
    _machine_list().forget(address)


def jobs_of(address: MachineAddress, progress: Progress) -> list[RemoteJob]:
    """The jobs of a machine, oldest first. Raises `LabError`."""
    with reached(address, progress) as machine:
        return machine.jobs()


def clean(address: MachineAddress, progress: Progress) -> None:
    """Remove all that the lab has left on a machine. Raises `LabError`."""
    with reached(address, progress) as machine:
        if not machine.has_lab():
            raise InvalidInput(
                f"{address.host}: {machine.facts.folder} is no folder of the lab's", "nothing was removed"
            )
        with machine.alone():
            _check_fetched(machine)
            with progress.stage(f"removing {machine.facts.folder} on {address.host}"):
                machine.remove_lab()
        _machine_list().forget(address)


def check_fetched(address: MachineAddress, progress: Progress) -> None:
    """Raises `InvalidInput` if a run that was measured on a machine is nowhere else yet, `Busy` if one is measured now."""
    with reached(address, progress) as machine:
        if machine.has_lab():
            with machine.alone():
                _check_fetched(machine)


def _check_fetched(machine: OtherMachine) -> None:
    for each in machine.jobs():
        if not each.fetched and machine.run_files(each.id):
            raise InvalidInput(
                f"{machine.host}: what '{' '.join(each.arguments)}' measured there was not fetched yet",
                f"'redolab attach {machine.address}' fetches it"
                if each.by == asker()
                else f"{each.by} can fetch it; or remove {machine.facts.folder} there by hand",
            )


def _brought(
    machine: OtherMachine, servers: Sequence[str], progress: Progress
) -> tuple[Luggage, Luggage, Luggage | None]:
    """Have the lab, these servers and the user's own experiments there."""
    machine.mark()
    folder = PROJECT.lab / MACHINES
    claim_lab_folder(PROJECT.lab)
    folder.mkdir(exist_ok=True)
    with locked(folder / ".packing"):
        journal = Journal(folder / "journal")
        journal.clear()
        packing = Packing(folder, journal)
        packages, lab = packing.packages(machine.facts, progress), packing.lab(progress)
        experiments = own_experiments()
        for luggage in (packages, lab, *_servers(machine, servers, progress), experiments):
            if luggage is not None:
                machine.bring(luggage, progress)
    machine.forget_all_but(packages, lab)
    for name, content in own_files().items():
        machine.write(name, content)
    return lab, packages, experiments


def _servers(machine: OtherMachine, names: Sequence[str], progress: Progress) -> Iterator[Luggage]:
    """Each as it is unpacked here; those are left out that the machine gets by itself, of another kind of processor."""
    if machine.facts.processor != platform.machine():
        return
    store = servers_of(PROJECT.lab)
    for name in names:
        entry = server_catalogue().get(name)
        if isinstance(entry.source, FolderSource):
            continue
        if store.installed(name, entry) is None:
            with open_lab(progress, list) as lab:
                lab.server(name)
        # All of them: a run that goes on there may have been planned with another than the one expected.
        for folder in (each.folder for each in store.versions(name)):
            made_from = hashlib.sha256((folder / "server.json").read_bytes()).hexdigest()
            yield Luggage(f"{LAB_FOLDER}/servers/{folder.name}", folder, made_from)


def _attend(machine: OtherMachine, job: str, progress: Progress) -> int:
    """Show what a job prints until it has ended, fetch its runs meanwhile, and put them among those here."""
    fetching = Fetching(machine, job, PROJECT.runs)
    try:
        with _every(_EVERY, fetching.fetch):
            _show(machine, job)
        ended = next(each for each in machine.jobs() if each.id == job)
        _finish(machine, job, fetching, progress)
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


def _fetch(machine: OtherMachine, job: str, progress: Progress) -> None:
    _finish(machine, job, Fetching(machine, job, PROJECT.runs), progress)


def _finish(machine: OtherMachine, job: str, fetching: Fetching, progress: Progress) -> None:
    """Fetch what is left of a job that has ended, and note there that whoever asked for it has it."""
    with progress.stage(f"fetching the run from {machine.host}", brief=True):
        runs = fetching.finish()
    if any(each.id == job and each.by == asker() for each in machine.jobs()):
        machine.note_fetched(job)
    for run in runs:
        progress.note(f"fetched from {machine.host}: {run}")


def _show(machine: OtherMachine, job: str) -> None:
    """Copy a job's output to ours until it has ended. Ctrl-C has it end; a second one leaves it to itself."""
    shown, stopping = 0, False
    while True:
        try:
            with machine.following(job, shown) as stream:
                while chunk := stream.read1(_CHUNK):
                    shown += len(chunk)
                    sys.stdout.buffer.write(chunk)
                    sys.stdout.buffer.flush()
            return
        except KeyboardInterrupt:
            if stopping:
                raise
            stopping = True
            machine.stop(job)


@contextmanager
def _ctrl_c_raises() -> Iterator[None]:
    """While in it SIGINT raises `KeyboardInterrupt`, also where a script has started us in the background, with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _every(seconds: float, do: Callable[[], None]) -> Iterator[None]:
    """While in it: something is done now and then, in a thread of its own; what fails is left for the end."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            with suppress(LabError, OSError):
                do()

    thread = threading.Thread(target=repeat, name="fetching", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _machine_list() -> KnownMachines:
    return KnownMachines(PROJECT.own_machines)
