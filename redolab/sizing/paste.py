"""What to change for a new size of redo log: lines to paste, each with its reason."""

from __future__ import annotations

import math

import msgspec

from redolab.models.recovery_time.predict import Prediction
from redolab.servers.dialects import Dialect
from redolab.units import format_duration, format_size

_MARGIN = 2.0
"""Times the upper end of the 90 % interval: a timeout that ends one recovery in twenty is no timeout but an outage."""
_LEAST_TIMEOUT = 90
"""Seconds: systemd's default."""
_PERIOD = 10
"""Seconds between two probes."""


class Lines(msgspec.Struct, frozen=True, kw_only=True):
    """One place to change: where, the lines, and why."""

    where: str
    lines: tuple[str, ...]
    why: str


def lines_for(dialect: Dialect, log_size: int, prediction: Prediction) -> tuple[Lines, ...]:
    """Everything that has to know of the new size, and of how long recovery takes with it."""
    size, upper = format_size(log_size), format_duration(prediction.ninety[1])
    timeout = max(_LEAST_TIMEOUT, math.ceil(_MARGIN * prediction.ninety[1] / _PERIOD) * _PERIOD)
    resizing = dialect.resizing(log_size)
    settings = [f"{each.name} = {each.value}" for each in dialect.log_settings(log_size)]
    how = [*([f"{resizing.statement};"] if resizing.statement else []), *(f"-- {step}" for step in resizing.steps)]
    return (
        Lines(where="my.cnf", lines=("[mysqld]", *settings), why=f"a redo log of {size}"),
        Lines(
            where="changing it",
            lines=(*how, "-- back: the same with the old size"),
            why="without a restart"
            if resizing.statement
            else "with a clean shutdown, and never after a crash that is not recovered",
        ),
        Lines(
            where="systemd: systemctl edit mysqld, or mariadb",
            lines=("[Service]", f"TimeoutStartSec={timeout}"),
            why=f"recovery can take {upper}; this is twice that, and no less than the default, which has killed recoveries (MDEV-17934)",
        ),
        Lines(
            where="Kubernetes: in the container",
            lines=(
                "startupProbe:",
                f"  periodSeconds: {_PERIOD}",
                f"  failureThreshold: {math.ceil(timeout / _PERIOD)}",
            ),
            why="a pod that is killed in recovery begins again from the same checkpoint, for ever",
        ),
        Lines(
            where="failover",
            lines=(f"wait for a crashed primary {math.ceil(prediction.ninety[1])} s or more, or not at all",),
            why=f"half of its recoveries take up to {format_duration(prediction.seconds)}, nineteen in twenty up to {upper}",
        ),
    )
