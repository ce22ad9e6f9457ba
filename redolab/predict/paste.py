"""Configuration to change for a new redo log size: lines to paste, each with its reason.

`redolab size` and the calculator of the report fill in the same templates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from redolab.predict.recovery import Prediction
from redolab.servers.dialects import Dialect, StartTimeout
from redolab.units import format_duration, format_size

_MARGIN = 2.0
"""Multiple of the 90 % interval's upper end: a timeout that ends one recovery in twenty would cause outages."""
_GRACE = 30
"""Seconds that Kubernetes gives a container to end, by default."""
_PERIOD = 10
"""Seconds between two probes, the default of Kubernetes."""


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """One place to change: its name, the lines, and the reason."""

    where: str
    lines: tuple[str, ...]
    why: str

    def filled(self, values: Mapping[str, str]) -> Lines:
        """Return the lines with values in place of `{name}`."""
        lines = tuple(line.format_map(values) for line in self.lines)
        return Lines(where=self.where.format_map(values), lines=lines, why=self.why.format_map(values))


def lines_for(dialect: Dialect, log_size: int, prediction: Prediction) -> tuple[Lines, ...]:
    """Return every place that depends on the new size, or on the recovery time with it."""
    upper = prediction.ninety[1]
    needed = math.ceil(_MARGIN * upper / _PERIOD) * _PERIOD
    values = {
        "log": format_size(log_size),
        "median": format_duration(prediction.seconds),
        "upper": format_duration(upper),
        "wait": f"{math.ceil(upper)}",
        "needed": f"{needed}",
        "failures": f"{needed // _PERIOD}",
        "grace": f"{max(_GRACE, math.ceil(upper))}",
    }
    found = templates(dialect, log_size, is_enough=needed <= dialect.start_timeout.least_s)
    return tuple(each.filled(values) for each in found)


def templates(dialect: Dialect, log_size: int, *, is_enough: bool) -> Sequence[Lines]:
    """Return the places, with `{name}` for values that depend on a prediction.

    `is_enough`: the vendor's start timeout is at least twice the upper bound.
    """
    resizing = dialect.resizing(log_size)
    settings = [f"{each.name} = {each.value}" for each in dialect.log_settings(log_size)]
    how = [*([f"{resizing.statement};"] if resizing.statement else []), *(f"-- {step}" for step in resizing.steps)]
    return (
        Lines(where="my.cnf", lines=("[mysqld]", *settings), why="a redo log of {log}"),
        Lines(
            where="changing it",
            lines=(*how, "-- back: the same with the old size"),
            why="without a restart"
            if resizing.statement
            else "with a clean shutdown, and never after a crash that is not recovered",
        ),
        _systemd(dialect.start_timeout, is_enough=is_enough),
        _kubernetes(dialect.ping),
        Lines(
            where="failover",
            lines=("wait for a crashed primary {wait} s or more, or not at all",),
            why="its recovery typically takes {median}, 95 % sure less than {upper}",
        ),
    )


def _systemd(timeout: StartTimeout, *, is_enough: bool) -> Lines:
    """Return the lines for systemd. Never advise a lower timeout than the unit may have: it would kill recoveries."""
    if is_enough:
        return Lines(
            where="systemd: leave TimeoutStartSec as it is",
            lines=(f"# enough: infinity, or {{needed}} s and more: systemctl show -p TimeoutStartUSec {timeout.unit}",),
            why=f"recovery can take {{upper}}; {timeout.shipped}",
        )
    return Lines(
        where=f"systemd: systemctl edit {timeout.unit}, only if 'systemctl show -p TimeoutStartUSec {timeout.unit}' says less than "
        "{needed} s",
        lines=("[Service]", "TimeoutStartSec=infinity"),
        why=f"recovery can take {{upper}}; {timeout.shipped}",
    )


def _kubernetes(ping: Sequence[str]) -> Lines:
    """Return the probes of a pod, by Kubernetes 1.28 and later (Configure Liveness, Readiness and Startup Probes)."""
    check = (
        "      exec:",
        f"        command: [{', '.join(ping)}]",
        f"      periodSeconds: {_PERIOD}",
        "      timeoutSeconds: 5",
    )
    return Lines(
        where="Kubernetes: only if the container has a livenessProbe, with its own check in both, and nothing lower than it has now",
        lines=(
            "spec:",
            "  terminationGracePeriodSeconds: {grace}",
            "  containers:",
            "  - name: mysql",
            "    startupProbe:",
            *check,
            "      failureThreshold: {failures}",
            "    livenessProbe:",
            *check,
            "      failureThreshold: 3",
        ),
        why="the livenessProbe begins only when the startupProbe has succeeded, and that may fail for {needed} s (failureThreshold times "
        "periodSeconds); recovery can take {upper}. Without a startupProbe the livenessProbe kills the server after its own "
        "initialDelaySeconds plus failureThreshold times periodSeconds, and the next recovery begins at the same checkpoint. "
        "terminationGracePeriodSeconds gives a clean shutdown as long as the recovery that it saves, and at least the default. The "
        "operators (Percona's, mariadb-operator, Oracle's mysql-operator) own these fields: set them in the operator's own resource",
    )
