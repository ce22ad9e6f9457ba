"""An open lab: a machine that this command has for itself, and the folders and tools that experiments use on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from redolab.errors import Busy, InvalidInput
from redolab.machine import files, processes
from redolab.machine.clean_up_journal import Journal
from redolab.machine.description import read_machine
from redolab.machine.identity import machine_identity
from redolab.machine.interrupts import unwinding
from redolab.machine.lab_folder import JOURNAL, check_lab_folder, claim_lab_folder
from redolab.machine.lock import alone
from redolab.machine.neighbours import neighbours
from redolab.machine.tools import Tools
from redolab.progress import Progress
from redolab.project import LOCAL, PROJECT
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Version, other_than_expected
from redolab.servers.install import InstalledServer, Servers


@dataclass(frozen=True, slots=True)
class Lab:
    """The machine, folders, tools and servers that an experiment works with."""

    folder: Path
    """The lab's folder: servers, tools, datasets, crash images."""
    progress: Progress
    journal: Journal
    tools: Tools
    servers: Servers
    reads_only: bool = False
    """True if nothing may be made, started or removed, because a run may have the machine."""
    _told: set[str] = field(default_factory=set)
    """Names of servers whose unexpected version was already reported."""

    @property
    def home(self) -> Path:
        """Folder of datasets and crash images, on local disk."""
        return native_folder(self.folder)

    def identity(self) -> str:
        """Return the id of this machine (`redolab.machine.identity`)."""
        return machine_identity(self.folder, read_machine(self.home), keep=not self.reads_only)

    def server(self, name: str, version: str | None = None) -> InstalledServer:
        """Return a server of the catalogue, unpacking it if necessary: in `version` if that is installed.

        Raises `LabError`.
        """
        entry = server_catalogue().get(name)
        planned = None if version is None else self.servers.of_version(name, Version.parse(version))
        if self.reads_only:
            there = planned or self.servers.installed(name, entry)
            if there is None:
                return self._unpacked(name)
            found = there
        else:
            self.tools.require(["bwrap", "sysbench"], self.progress)
            if planned is not None:
                planned.sandbox.prepare()
            found = planned or self.servers.install(name, entry, self.progress)
        if other_than_expected(found.version, entry.version) and name not in self._told:
            self._told.add(name)
            why = (
                "as planned" if planned else f"'redolab server fetch {name}' gets what its source has today, beside it"
            )
            self.progress.note(f"{name} is {found.version}, and {entry.version} is expected of it: {why}")
        return found

    def _unpacked(self, name: str) -> InstalledServer:
        """Unpack a server for a lab that only reads. Raises `Busy` while a run has the machine, and `LabError`."""
        try:
            with open_lab(self.progress, list) as lab:
                return lab.server(name)
        except Busy as error:
            raise Busy(f"{name} is not unpacked yet, and {error.problem}", "try again when that has ended") from None


def native_folder(lab_folder: Path) -> Path:
    """Return the folder of datasets and crash images in a lab's folder."""
    return lab_folder / LOCAL


def journal_of(folder: Path) -> Journal:
    """Return the clean-up journal in the lab's folder."""
    return Journal(folder / JOURNAL)


def tools_of(folder: Path) -> Tools:
    """Return the tools of this machine, unpacked in the lab's folder."""
    return Tools(folder / "tools", journal_of(folder))


def servers_of(folder: Path) -> Servers:
    """Return the servers in the lab's folder."""
    return Servers(folder / "servers", journal_of(folder), tools_of(folder))


def lab_to_read(progress: Progress) -> Lab:
    """Return the lab for a command that only reads, even while a run has the machine. Raises `InvalidInput`."""
    check_lab_folder(PROJECT.lab)
    return _lab_in(PROJECT.lab, progress, reads_only=True)


def _lab_in(folder: Path, progress: Progress, *, reads_only: bool = False) -> Lab:
    return Lab(
        folder=folder,
        progress=progress,
        journal=journal_of(folder),
        tools=tools_of(folder),
        servers=servers_of(folder),
        reads_only=reads_only,
    )


@contextmanager
def open_lab(progress: Progress, clean_up: Callable[[], list[str]], *, beside_others: bool = True) -> Iterator[Lab]:
    """Hold this machine for one command. First remove what a killed lab left, and report each thing removed.

    `clean_up` removes what else the command knows of, and returns a description of each thing removed. Raises `Busy` if
    another run has the machine. Raises `InvalidInput` if the lab's folder holds other things, or, unless
    `beside_others`, if a database server that is not the lab's runs here.
    """
    folder = PROJECT.lab
    # Check before anything is written there, the lock included.
    check_lab_folder(folder)
    with alone(folder), unwinding():
        claim_lab_folder(folder)
        processes.offer_to_oom_killer()
        lab = _lab_in(folder, progress)
        for path in lab.journal.drop_foreign():
            progress.note(f"the clean-up journal names {path}, which is not in this lab's folder: left as it is")
        _say_cleared(progress, lab.journal.clear())
        _say_cleared(progress, clean_up())
        if not beside_others:
            _check_alone()
        files.make_folder(lab.home)
        try:
            yield lab
        finally:
            processes.end_all()


def _say_cleared(progress: Progress, cleared: list[str]) -> None:
    for left in cleared:
        progress.note(f"an earlier run was killed and left {left}: cleaned up")


def _check_alone() -> None:
    """Refuse a machine with a database server on it. Call this before the lab has started one.

    Raises `InvalidInput`.
    """
    found = neighbours()
    if found:
        raise InvalidInput(
            f"{', '.join(map(str, found))} runs on this machine: the lab drops the page cache of all and writes as fast as it can",
            "stop it, choose a machine without it, or say --beside-others (BESIDEOTHERS=on)",
        )
