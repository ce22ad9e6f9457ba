"""Wait or restart: what is lost by each, of a recovery that is running."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from redolab.models.time_left import TimeLeft
from redolab.timeline.phase import Phase
from redolab.units import format_duration
from redolab.watching.following.service import StartLimit

NEVER = "do not delete redo log files and do not set innodb_force_recovery: either loses data, and neither is faster"
WAY_OUT = (
    "kill the server and start it once with innodb_read_io_threads = 64 (docs/results/stuck.md); "
    "the redo is applied again from the checkpoint, and nothing is lost"
)


class Advice(StrEnum):
    """What is to be done."""

    WAIT = "wait"
    RESTART = "restart"
    LOOK = "look"
    """It does not get on, and why is not known."""


@dataclass(frozen=True, slots=True)
class Advised:
    """What is to be done, and why, in words."""

    advice: Advice
    words: tuple[str, ...]


def advised(
    *,
    phase: Phase,
    elapsed: float,
    left: TimeLeft | None,
    quiet: float | None,
    stuck_after: float,
    blocked: bool,
    limit: StartLimit | None,
    is_extended: bool,
) -> Advised:
    """What is to be done about a recovery; times in seconds.

    `quiet`: since it got on last, None where that is not seen; `blocked`: whether it complains of no free block and says nothing else;
    `limit`: after which its unit is killed, which `is_extended` by a server that asks for more time itself.
    """
    if quiet is not None and quiet >= stuck_after:
        since = f"it has read and written no page and said nothing new for {format_duration(quiet)}"
        if blocked:
            return Advised(Advice.RESTART, (f"restart: {since}, and finds no free block", WAY_OUT, NEVER))
        return Advised(Advice.LOOK, (f"{since}: see what it waits for before a restart ('gdb -p', the disk)", NEVER))
    words = []
    if phase is Phase.ROLLBACK:
        words.append("wait, or use it: it takes connections; a restart undoes again only what was not yet durable")
    elif left is None:
        words.append(f"wait: a restart begins again at the checkpoint, and {format_duration(elapsed)} are lost")
    else:
        whole = format_duration(elapsed + left.seconds)
        words.append(f"wait: a restart begins again at the checkpoint, and loses {format_duration(elapsed)} of {whole}")
    if limit is not None and not is_extended:
        words.extend(_killed(limit, elapsed, left))
    return Advised(Advice.WAIT, tuple(words))


def _killed(limit: StartLimit, elapsed: float, left: TimeLeft | None) -> list[str]:
    remaining = limit.seconds - elapsed
    if remaining <= 0 or (left is not None and left.high < remaining):
        return []
    likely = "will" if left is not None and left.seconds > remaining else "may"
    return [
        f"systemd {likely} kill it in {format_duration(remaining)}: TimeoutStartSec of {limit.unit} is "
        f"{format_duration(limit.seconds)}; 'systemctl edit {limit.unit}' with TimeoutStartSec=infinity saves the next start"
    ]
