"""Examination of a machine for the lab: its abilities, its lacks, and advice on each lack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from redolab.errors import InvalidInput, LabError
from redolab.lab import servers_of, tools_of
from redolab.machine import processes
from redolab.machine.apt import distribution
from redolab.machine.copies import shares_blocks
from redolab.machine.description import read_machine
from redolab.machine.distribution import has_apt, how_to_install
from redolab.machine.lab_folder import check_lab_folder
from redolab.machine.tools import PACKAGES
from redolab.project import PROJECT
from redolab.report.table import Column, ReportTable
from redolab.servers.catalogue import server_catalogue
from redolab.servers.sandbox import Sandbox
from redolab.servers.sizes import crash_and_recovery, data_directory, default_dataset, fill_pool
from redolab.slowlog.plugin.plugin_build import lacking_packages
from redolab.units import GIB, format_size

_FEWEST_CORES = 2
_EVERY_RUN = ("bwrap", "sysbench")


@dataclass(frozen=True, slots=True)
class Examination:
    """One examined thing: its state, whether it suffices for the lab, and advice if not."""

    what: str
    found: str
    fit: bool
    needed: bool
    """True if no run is possible without it; otherwise runs only measure less."""
    remedy: str = ""

    @property
    def verdict(self) -> str:
        """Result in a word."""
        return "ok" if self.fit else "LACKING" if self.needed else "limits"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All examined things."""

    examined: list[Examination]

    @property
    def fit(self) -> bool:
        """True if a run is possible."""
        return all(each.fit for each in self.examined if each.needed)

    @property
    def table(self) -> ReportTable:
        """Result as a table."""
        columns = [
            Column[Examination]("what", lambda each: each.what),
            Column[Examination]("found", lambda each: each.found),
            Column[Examination]("", lambda each: each.verdict),
            Column[Examination]("what to do", lambda each: "" if each.fit else each.remedy),
        ]
        return ReportTable.of("This machine", self.examined, columns, [])


def examine(log_size: int) -> Diagnosis:
    """Examine this machine for runs with a redo log of `log_size` bytes."""
    return Diagnosis([*_hardware(log_size), *_system(log_size), *_tools()])


def _hardware(log_size: int) -> Iterator[Examination]:
    machine = read_machine(PROJECT.lab)
    dataset = default_dataset(log_size)
    pool = fill_pool(dataset, log_size)
    needed = crash_and_recovery(dataset, log_size, images=1)
    few = "fewer: the workload and the server share them, the log fills slowly"
    yield Examination("cores", f"{machine.cores} ({machine.cpu})", machine.cores >= _FEWEST_CORES, False, few)
    yield Examination(
        "memory",
        f"{format_size(machine.memory)}; {format_size(pool + GIB)} needed for a log of {format_size(log_size)}",
        machine.memory >= pool + GIB,
        True,
        "choose a smaller LOGSIZE or DATASET",
    )
    yield Examination(
        "disk",
        f"{format_size(machine.disk.free)} free on {machine.disk.device} ({machine.disk.file_system}); about "
        f"{format_size(needed)} needed for a log of {format_size(log_size)}",
        machine.disk.free >= needed,
        True,
        "choose a smaller LOGSIZE or DATASET, or remove crash images ('redolab images')",
    )
    yield _lab_folder()


def _lab_folder() -> Examination:
    try:
        check_lab_folder(PROJECT.lab)
    except InvalidInput as refused:
        return Examination("lab's folder", refused.problem, False, True, refused.remedy)
    return Examination("lab's folder", str(PROJECT.lab), True, True)


def _system(log_size: int) -> Iterator[Examination]:
    machine = read_machine(PROJECT.lab)
    yield Examination("kernel", machine.kernel, True, True)
    try:
        yield Examination("packages", f"{machine.system}: {distribution()} suites", True, True)
    except LabError:
        by_hand = "the lab installs nothing here: what is missing is named below"
        yield Examination("packages", f"{machine.system}: no apt of Debian or Ubuntu", False, False, by_hand)
    yield _servers()
    for what, device, remedy in (
        (
            "loop devices",
            "/dev/loop-control",
            "modprobe loop: without it no modelled disks, and inflation's device column stays blank",
        ),
        ("FUSE", "/dev/fuse", "modprobe fuse: without it no modelled disks (STORAGE=hdd and others)"),
    ):
        there = Path(device).exists()
        yield Examination(what, "yes" if there else "no", there, False, remedy)
    reflink = shares_blocks(PROJECT.lab)
    size = format_size(data_directory(default_dataset(log_size), log_size))
    yield Examination(
        "copies",
        f"{machine.disk.file_system} " + ("shares blocks" if reflink else "copies every block"),
        reflink,
        False,
        f"a crash image (up to {size} for a log of {format_size(log_size)}) is copied for each recovery, which is not counted in its "
        "time: REDOLAB_LAB=/folder on XFS or btrfs has it done at once",
    )
    yield Examination(
        "root",
        "yes" if processes.is_root() else "no",
        processes.is_root(),
        False,
        "no modelled disks; the page cache cannot be dropped: recoveries read part of their files from memory; "
        "no device column in inflation",
    )


def _servers() -> Examination:
    """Examine which servers of the catalogue exist, or can be had on a machine of this distribution."""
    servers = servers_of(PROJECT.lab)
    there, had, lacking, why = [], [], [], ""
    for name, entry in server_catalogue().items():
        if servers.installed(name, entry) is not None:
            there.append(name)
            continue
        try:
            entry.source.check_here()
            had.append(name)
        except LabError as error:
            lacking.append(name)
            why = str(error)
    kinds = (("there", there), ("can be had", had), ("cannot be had", lacking))
    found = "; ".join(f"{kind}: {', '.join(of)}" for kind, of in kinds if of)
    # Not needed: a machine that measures brings along what this one cannot have.
    return Examination("servers", found, not lacking, False, why)


def _tools() -> Iterator[Examination]:
    tools = tools_of(PROJECT.lab)
    versions = tools.versions()
    apt = has_apt()
    for name, package in PACKAGES.items():
        remedy = f"{'the first run that wants it gets it, or: ' if apt else ''}{how_to_install([package])}"
        needed = not apt and name in _EVERY_RUN
        yield Examination(name, versions.get(name, "not there"), name in versions, needed, remedy)
    if apt:
        lacking = lacking_packages()
        found = f"lacks {', '.join(lacking)}" if lacking else "can be built from Debian's source packages"
        remedy = f"the first run that wants it gets them, or: {how_to_install(lacking)}"
        yield Examination("slow log plugin", found, not lacking, False, remedy)
    bubblewrap = tools.find("bwrap")
    if bubblewrap is not None:
        try:
            Sandbox(bubblewrap, Path("/"), Path("/etc")).check()
            yield Examination("sandbox", "bubblewrap can make namespaces", True, True)
        except LabError as error:
            yield Examination("sandbox", error.problem, False, True, error.remedy)
