"""Options that say how long a recovery may take and what that may cost, the same for one server and for a fleet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from redolab.commands.shared_options import gathered

if TYPE_CHECKING:
    from redolab.predict.advising import CrashTime
    from redolab.predict.log_size import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenLimits:
    """Values of these options as given."""

    rto: str
    chance: str
    loss: str
    crash: str

    def limits(self) -> Limits:
        """Return the limits. Raise `InvalidInput` for a recovery time that no server can meet."""
        from redolab.predict.advising import check_recovery_time
        from redolab.predict.log_size import Limits
        from redolab.units import parse_duration, parse_percent

        limits = Limits(rto=parse_duration(self.rto), chance=parse_percent(self.chance), loss=parse_percent(self.loss))
        check_recovery_time(limits.rto)
        return limits

    def crash_time(self) -> CrashTime:
        """Return the crash that has to be recovered in time."""
        from redolab.predict.advising import CrashTime

        return CrashTime(self.crash)


limit_options = gathered(
    "allowed",
    GivenLimits,
    click.option("--rto", required=True, metavar="TIME", help="Recovery within this, as in 60s or 5m."),
    click.option(
        "--chance", default="5%", metavar="SHARE", show_default=True, help="Fewer recoveries than that may take longer."
    ),
    click.option(
        "--loss",
        default="3%",
        metavar="SHARE",
        show_default=True,
        help="Less throughput than that may be lost against the largest log, where that was measured.",
    ),
    click.option(
        "--crash",
        type=click.Choice(["any", "worst"]),
        default="any",
        show_default=True,
        help="Which has to be recovered in time: one at a random time, where the ages at such are known, or with the log full.",
    ),
)
"""Decorator that gives a command these options, which it receives together as its parameter `allowed`."""
