"""The unit of systemd that a server runs in, and after how long it is killed there when it is not ready: it is only read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from redolab.errors import CommandFailed
from redolab.machine.processes import Command, run, which

_UNIT = re.compile(r"/((?:mysql|mariadb)[\w@.-]*\.service)(?:/|$)", re.MULTILINE)
_PART = re.compile(r"(\d+(?:\.\d+)?)(y|month|w|d|h|min|s|ms|us)\b")
_SECONDS = {
    "y": 31_557_600,
    "month": 2_629_800,
    "w": 604_800,
    "d": 86_400,
    "h": 3600,
    "min": 60,
    "s": 1,
    "ms": 1e-3,
    "us": 1e-6,
}
_PATIENCE = 5.0
_PROPERTIES = ("--property=ActiveState", "--property=MainPID", "--property=TimeoutStartUSec")


@dataclass(frozen=True, slots=True)
class StartLimit:
    """How long a unit may take to start."""

    unit: str
    seconds: float


def unit_in(cgroup: str) -> str | None:
    """The unit of a server by the text of its /proc/PID/cgroup; None where it runs in none that is named like a server."""
    found = _UNIT.search(cgroup)
    return None if found is None else found[1]


def seconds_of(said: str) -> float | None:
    """A time span as `systemctl show` prints it (systemd.time(7)); None of one without an end."""
    parts = _PART.findall(said)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) if parts else None


def limit_shown(unit: str, shown: str, pid: int) -> StartLimit | None:
    """The limit in what `systemctl show` prints of a unit; None where it has none, or is not starting that very process."""
    properties = {name: value for name, _, value in (line.partition("=") for line in shown.splitlines())}
    if properties.get("ActiveState") != "activating" or properties.get("MainPID") != str(pid):
        return None
    seconds = seconds_of(properties.get("TimeoutStartUSec", ""))
    return StartLimit(unit, seconds) if seconds else None


def start_limit(cgroup: str, pid: int) -> StartLimit | None:
    """After how long the unit of a server is killed that is not ready; None where it is in none, or that has no end."""
    unit = unit_in(cgroup)
    if unit is None or which("systemctl") is None:
        return None
    try:
        return limit_shown(unit, run(Command(["systemctl", "show", *_PROPERTIES, unit]), seconds=_PATIENCE).out, pid)
    except CommandFailed:
        return None
