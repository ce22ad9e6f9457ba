"""Advice on a running recovery: wait or restart, and the loss by each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from redolab.errorlog.watch import STUCK_AFTER
from redolab.units import format_duration
from redolab.watch.following.service import StartLimit
from redolab.watch.following.time_left import TimeLeft

NEVER = "do not delete redo log files, nor set innodb_force_recovery to save time: the one loses data, 4 and more of the other can"
STUCK_LOG = (
    "if its log repeats 'Difficult to find free blocks in the buffer pool', docs/results/stuck.md has the way out"
)
WAY_OUT = (
    "kill the server and start it once with innodb_read_io_threads = 64 (docs/results/stuck.md); "
    "the redo is applied again from the checkpoint, and nothing is lost"
)


class Advice(StrEnum):
    """Advice on a recovery."""

    NONE = "none"
    """The server is ready or has ended: no wait is needed."""
    WAIT = "wait"
    RESTART = "restart"
    LOOK = "look"
    """The recovery makes no progress, for an unknown reason."""


@dataclass(frozen=True, slots=True)
class Advised:
    """Advice with its reasons in words."""

    advice: Advice
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """Time without progress of a recovery, in seconds."""

    quiet: float | None
    """Seconds since the last progress; None where progress cannot be seen."""
    blocked: float
    """Seconds, up to now, in which the log has only reported that no free block is found; 0 if it does not."""
    sees_process: bool
    """True if the reads and writes of its process can be seen."""

    @property
    def is_blocked(self) -> bool:
        """True if it is in the state that results/stuck.md describes."""
        quiet = self.blocked if not self.sees_process else min(self.quiet or 0.0, self.blocked)
        return quiet >= STUCK_AFTER

    @property
    def is_silent(self) -> bool:
        """True if it makes no progress, for an unknown reason."""
        return self.sees_process and self.quiet is not None and self.quiet >= STUCK_AFTER


def advised(elapsed: float, left: TimeLeft | None, standstill: Standstill, limit: StartLimit | None) -> Advised:
    """Return the advice on a recovery that has taken `elapsed` seconds; `limit`: the timeout of its unit."""
    if standstill.is_blocked:
        reads = ", and has read no page" if standstill.sees_process else ""
        reason = f"for {format_duration(standstill.blocked)} it has said nothing but that it finds no free block{reads}"
        return Advised(Advice.RESTART, (f"restart: {reason}", WAY_OUT, NEVER))
    if standstill.is_silent and standstill.quiet is not None:
        reason = f"it has read and written no page and said nothing new for {format_duration(standstill.quiet)}"
        check = "see what it waits for (/proc/PID/task/*/wchan, the disk)"
        return Advised(Advice.LOOK, (f"{reason}: {check}", STUCK_LOG, NEVER))
    lost = f"{format_duration(elapsed)} are lost"
    if left is not None:
        lost = f"{format_duration(elapsed)} of {format_duration(elapsed + left.seconds)} are lost"
    words = [f"wait: a restart begins again at the checkpoint, and {lost}"]
    if limit is not None:
        words.extend(_killed(limit, elapsed, left))
    return Advised(Advice.WAIT, tuple(words))


def advised_of_unknown(standstill: Standstill) -> Advised:
    """Return advice on a server that finds no free block, if no line shows that it recovers."""
    reason = f"for {format_duration(standstill.blocked)} it has said that it finds no free block, and no line of its start is seen"
    check = "if it takes no connections, it is stuck (docs/results/stuck.md has the way out)"
    return Advised(Advice.LOOK, (f"{reason}: {check}", NEVER))


def _killed(limit: StartLimit, elapsed: float, left: TimeLeft | None) -> list[str]:
    remaining = limit.seconds - elapsed
    if left is not None and left.high < remaining:
        return []
    likely = "will" if left is not None and left.seconds > remaining else "may"
    when = f"in {format_duration(remaining)}" if remaining > 0 else "at any moment"
    fixed = ", which a server that recovers in ExecStartPre (Galera) cannot extend" if limit.is_fixed else ""
    return [
        f"systemd {likely} kill it {when}: TimeoutStartSec of {limit.unit} is {format_duration(limit.seconds)}{fixed}; "
        f"'systemctl edit {limit.unit}' with TimeoutStartSec=infinity under [Service] counts for this start too"
    ]
