"""What a machine offers and lacks for the lab, and what to do about each lack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from redolab.apt import distribution
from redolab.dataset import default_dataset_size
from redolab.errors import LabError
from redolab.hosts import Command, Host
from redolab.hosts.local import LocalHost
from redolab.machine import read_machine
from redolab.project import PROJECT
from redolab.report.table import Column, ReportTable
from redolab.tools import PACKAGES, Tools
from redolab.units import GIB, format_size

_FEWEST_CORES = 2


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
    host = LocalHost()
    return Diagnosis([*_hardware(host, log_size), *_system(host), *_tools(host)])


def disk_needed(log_size: int, dataset: int, servers: int = 1) -> int:
    """Bytes that crashing and recovering takes: for each server a dataset and an image, and one copy of an image at a time."""
    data = int(dataset * _GROWTH) + _SYSTEM_FILES
    return servers * (2 * data + log_size) + data + log_size


# What updates add to a freshly loaded dataset: split pages and undo logs that purge has not yet freed.
_GROWTH = 1.5
_SYSTEM_FILES = GIB // 4


def _hardware(host: Host, log_size: int) -> Iterator[Finding]:
    machine = read_machine(host, PROJECT.root)
    dataset = default_dataset_size(log_size)
    pool = dataset * 3 // 2
    needed = disk_needed(log_size, dataset)
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


def _system(host: Host) -> Iterator[Finding]:
    machine = read_machine(host, PROJECT.root)
    yield Finding("kernel", machine.kernel, True, True)
    try:
        yield Finding("packages", f"{machine.system}: {distribution(host)} suites", True, True)
    except LabError as error:
        yield Finding("packages", machine.system, False, True, str(error))
    yield Finding(
        "root",
        "yes" if host.is_root() else "no",
        host.is_root(),
        False,
        "the page cache cannot be dropped: recoveries read part of their files from memory",
    )


def _tools(host: Host) -> Iterator[Finding]:
    tools = Tools(host, PROJECT.lab / "tools")
    for name, package in PACKAGES.items():
        tool = tools.find(name)
        version = (
            host.run(Command([str(tool.program), "--version"], environment=tool.environment), check=False)
            if tool
            else None
        )
        found = (
            f"{tool.program} ({version.out.strip().splitlines()[0]})"
            if tool and version and version.out
            else "not there"
        )
        yield Finding(name, found, tool is not None, False, f"the first run gets it, or: apt install {package}")
    bubblewrap = tools.find("bwrap")
    if bubblewrap is not None:
        trial = [str(bubblewrap.program), "--ro-bind", "/", "/", "--unshare-pid", "--unshare-net", "true"]
        works = host.run(Command(trial, environment=bubblewrap.environment), check=False)
        yield Finding(
            "sandbox",
            "bubblewrap can make namespaces" if works.status == 0 else works.err.strip(),
            works.status == 0,
            True,
            "allow unprivileged user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0), or run as root",
        )
