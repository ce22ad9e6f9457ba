"""A server's systemd unit, and the timeout after which systemd kills a server that is not ready: read only."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection
from dataclasses import dataclass

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
_PROPERTIES = "ActiveState,SubState,MainPID,ControlPID,TimeoutStartUSec"


@dataclass(frozen=True, slots=True)
class StartLimit:
    """Time that a unit may take to start, in seconds."""

    unit: str
    seconds: float
    is_fixed: bool = False
    """True in `ExecStartPre`, where a Galera node recovers: only the main process may ask systemd for more time."""


def unit_in(cgroup: str) -> str | None:
    """Return a server's unit, from the text of /proc/PID/cgroup; None if its name is not a server's."""
    found = _UNIT.search(cgroup)
    return None if found is None else found[1]


def seconds_of(span: str) -> float | None:
    """Parse a time span of `systemctl show` (systemd.time(7)), in seconds; None for an infinite one."""
    parts = _PART.findall(span)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) if parts else None


def limit_shown(unit: str, shown: str, pid: int, ancestors: Collection[int] = ()) -> StartLimit | None:
    """Return the timeout that `systemctl show` prints of a unit.

    None without a timeout, or if the unit is not starting that process. The process is the unit's main process, or
    below the command of `ExecStartPre` (`ancestors`: ids of its parents).
    """
    properties = {name: value for name, _, value in (line.partition("=") for line in shown.splitlines())}
    if properties.get("ActiveState") != "activating":
        return None
    before_start = properties.get("SubState") == "start-pre"
    if before_start and properties.get("ControlPID") not in {str(each) for each in (pid, *ancestors)}:
        return None
    if not before_start and properties.get("MainPID") != str(pid):
        return None
    seconds = seconds_of(properties.get("TimeoutStartUSec", ""))
    return StartLimit(unit, seconds, is_fixed=before_start) if seconds else None


def start_limit(cgroup: str, pid: int, ancestors: Collection[int]) -> StartLimit | None:
    """Return the timeout of a server that is not ready; None outside of units, or without a timeout."""
    unit = unit_in(cgroup)
    if unit is None:
        return None
    command = ["systemctl", "show", f"--property={_PROPERTIES}", unit]
    try:
        # In a session of its own: Ctrl-C is for `follow`.
        shown = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=True, start_new_session=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return limit_shown(unit, shown, pid, ancestors)
