"""What a machine offers and lacks for the lab, and what to do about each lack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from redolab.errors import LabError
from redolab.lab import tools_of
from redolab.machine import processes
from redolab.machine.apt import distribution
from redolab.machine.description import read_machine
from redolab.machine.tools import PACKAGES
from redolab.models.sizes import crash_and_recovery, default_dataset, fill_pool
from redolab.project import PROJECT
from redolab.report.table import Column, ReportTable
from redolab.servers.sandbox import Sandbox
from redolab.units import GIB, format_size

_FEWEST_CORES = 2
_KERNEL = {"loop": Path("/dev/loop-control"), "fuse": Path("/dev/fuse")}
_REFLINK = ("xfs", "btrfs", "bcachefs")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: what there is, what the lab can do with it, and what to do if that is not enough."""

    what: str
    found: str
    fit: bool
    needed: bool
    """Without it no run is possible; otherwise a run only says less."""
    remedy: str = ""

    @property
    def verdict(self) -> str:
        """In a word."""
        return "ok" if self.fit else "LACKING" if self.needed else "limits"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings."""

    findings: list[Finding]

    @property
    def fit(self) -> bool:
        """Whether a run is possible."""
        return all(finding.fit for finding in self.findings if finding.needed)

    @property
    def table(self) -> ReportTable:
        """It as a table."""
        columns = [
            Column[Finding]("what", lambda finding: finding.what),
            Column[Finding]("found", lambda finding: finding.found),
            Column[Finding]("", lambda finding: finding.verdict),
            Column[Finding]("what to do", lambda finding: "" if finding.fit else finding.remedy),
        ]
        return ReportTable.of("This machine", self.findings, columns, [])


def examine(log_size: int) -> Diagnosis:
    """Look at this machine with a redo log of so many bytes in mind."""
    return Diagnosis([*_hardware(log_size), *_system(), *_tools()])


def _hardware(log_size: int) -> Iterator[Finding]:
    machine = read_machine(PROJECT.lab)
    dataset = default_dataset(log_size)
    pool = fill_pool(dataset, log_size)
    needed = crash_and_recovery(dataset, log_size, images=1)
    few = "fewer: the workload and the server share them, the log fills slowly"
    yield Finding("cores", f"{machine.cores} ({machine.cpu})", machine.cores >= _FEWEST_CORES, False, few)
    yield Finding(
        "memory",
        f"{format_size(machine.memory)}; {format_size(pool + GIB)} needed for a log of {format_size(log_size)}",
        machine.memory >= pool + GIB,
        True,
        "choose a smaller LOGSIZE or DATASET",
    )
    yield Finding(
        "disk",
        f"{format_size(machine.disk.free)} free on {machine.disk.device} ({machine.disk.file_system}); about "
        f"{format_size(needed)} needed for a log of {format_size(log_size)}",
        machine.disk.free >= needed,
        True,
        "choose a smaller LOGSIZE or DATASET, or remove crash images ('redolab images')",
    )


def _system() -> Iterator[Finding]:
    machine = read_machine(PROJECT.lab)
    yield Finding("kernel", machine.kernel, True, True)
    try:
        yield Finding("packages", f"{machine.system}: {distribution()} suites", True, True)
    except LabError as error:
        yield Finding("packages", machine.system, False, True, str(error))
    for what, kinds, remedy in (
        (
            "loop devices",
            "loop",
            "modprobe loop: without it no modelled disks, and inflation's device column stays blank",
        ),
        ("FUSE", "fuse", "modprobe fuse: without it no modelled disks (STORAGE=hdd and others)"),
    ):
        there = (_KERNEL[kinds]).exists()
        yield Finding(what, "yes" if there else "no", there, False, remedy)
    reflink = machine.disk.file_system in _REFLINK
    yield Finding(
        "copies",
        f"{machine.disk.file_system} " + ("shares blocks" if reflink else "copies every block"),
        reflink,
        False,
        "an image is copied for each recovery (not counted in its time): XFS or btrfs do it at once ($REDOLAB_LAB)",
    )
    yield Finding(
        "root",
        "yes" if processes.is_root() else "no",
        processes.is_root(),
        False,
        "no modelled disks; the page cache cannot be dropped: recoveries read part of their files from memory; "
        "no device column in inflation",
    )


def _tools() -> Iterator[Finding]:
    tools = tools_of(PROJECT.lab)
    versions = tools.versions()
    for name, package in PACKAGES.items():
        remedy = f"the first run that wants it gets it, or: apt install {package}"
        yield Finding(name, versions.get(name, "not there"), name in versions, False, remedy)
    bubblewrap = tools.find("bwrap")
    if bubblewrap is not None:
        try:
            Sandbox(bubblewrap, Path("/"), Path("/etc")).check()
            yield Finding("sandbox", "bubblewrap can make namespaces", True, True)
        except LabError as error:
            yield Finding("sandbox", error.problem, False, True, error.remedy)
