"""What to change for a new size of redo log: lines to paste, each with its reason.

They are templates that `redolab size` and the calculator of the report fill in, so that both say the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from redolab.models.recovery_time.predict import Prediction
from redolab.servers.dialects import Dialect, StartTimeout
from redolab.units import format_duration, format_size

_MARGIN = 2.0
"""Times the upper end of the 90 % interval: a timeout that ends one recovery in twenty is no timeout but an outage."""
_PERIOD = 10
"""Seconds between two probes."""


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """One place to change: where, the lines, and why."""

    where: str
    lines: tuple[str, ...]
    why: str

    def filled(self, values: Mapping[str, str]) -> Lines:
        """With these in place of `{name}`."""

        def fill(text: str) -> str:
            for name, value in values.items():
                text = text.replace(f"{{{name}}}", value)
            return text

        return Lines(where=fill(self.where), lines=tuple(fill(line) for line in self.lines), why=fill(self.why))


def lines_for(dialect: Dialect, log_size: int, prediction: Prediction) -> tuple[Lines, ...]:
    """Everything that has to know of the new size, and of how long recovery takes with it."""
    upper = prediction.ninety[1]
    needed = math.ceil(_MARGIN * upper / _PERIOD) * _PERIOD
    values = {
        "log": format_size(log_size),
        "median": format_duration(prediction.seconds),
        "upper": format_duration(upper),
        "wait": f"{math.ceil(upper)}",
        "needed": f"{needed}",
        "failures": f"{needed // _PERIOD}",
    }
    found = templates(dialect, log_size, is_enough=needed <= dialect.start_timeout.least_s)
    return tuple(each.filled(values) for each in found)


def templates(dialect: Dialect, log_size: int, *, is_enough: bool) -> Sequence[Lines]:
    """The places with what depends on a prediction as `{name}`; `is_enough`: the vendors' start timeout is, for twice that."""
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
        Lines(
            where="Kubernetes: only if the container has a livenessProbe, and never lower than what it has",
            lines=(
                "startupProbe:",
                "  # with the livenessProbe's own check",
                f"  periodSeconds: {_PERIOD}",
                "  failureThreshold: {failures}",
            ),
            why="a livenessProbe waits for a recovery only if there is a startupProbe, and a pod that is killed in recovery begins again "
            "from the same checkpoint, for ever; the operators (Percona's, mariadb-operator, Oracle's mysql-operator) own these "
            "fields: set them in the operator's own resource",
        ),
        Lines(
            where="failover",
            lines=("wait for a crashed primary {wait} s or more, or not at all",),
            why="its recovery typically takes {median}, 95 % sure less than {upper}",
        ),
    )


def _systemd(timeout: StartTimeout, *, is_enough: bool) -> Lines:
    """Never a lower timeout than a unit may have: a line that introduces one kills recoveries."""
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
