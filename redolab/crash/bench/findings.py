"""Findings about a recovery, in words."""

from __future__ import annotations

import signal

from redolab.crash.records.recovery import Outcome, RecoveryTrial, Unfinished
from redolab.crash.records.verdict import Judgement
from redolab.runs.schema import Ruling
from redolab.units import format_duration, format_size

_ROOM_FOR_TEXT = 40


_KILLED = 128 + signal.SIGKILL
"""Exit status of what a signal ended, as a shell says it."""


def bad_outcome(trial: RecoveryTrial) -> str | None:
    """Return a finding about the outcome of a recovery; None if it ended in a ready server."""
    end = trial.unfinished
    if end is None:
        return None
    which = recovered(trial)
    match trial.outcome:
        case Outcome.STUCK:
            quiet = format_duration(end.ended - end.progress_ended)
            return (
                f"{trial.server} was stuck recovering {which}: no progress for {quiet} at {end.where}{_repeated(end)}"
            )
        case Outcome.GAVE_UP:
            return f"{trial.server} gave up recovering {which}: {_ended(end.status)} at {end.where}"
        case Outcome.DIED:
            return f"{trial.server} died after it was ready on {which}: {_ended(end.status)}"
        case Outcome.REFUSED:
            return f"{trial.server} was ready on {which} and refused the first write ({end.why})"
        case _:
            return f"{trial.server} started on {which} without a crash recovery"


def _ended(status: int | None) -> str:
    """Return how a server ended, in words."""
    if status == _KILLED:
        return "it was killed by SIGKILL, which the lab did not send (the kernel does, where memory is short: dmesg)"
    return f"it ended with status {status}"


def bad_verdict(which: str, judgement: Judgement) -> str | None:
    """Return a finding about the data of a recovered server; None if they are right, or could not be checked.

    `which`: name of the recovered image.
    """
    if judgement.ruling is not Ruling.WRONG:
        return None
    found = "; ".join(f"{each.what}: {each.found} instead of {each.expected}" for each in judgement.failed_checks)
    return f"{judgement.server} recovered {which} wrongly ({found})"


def recovered(trial: RecoveryTrial) -> str:
    """Return a description of a recovery: image, storage, pool and settings."""
    asked = f" and {trial.settings}" if trial.settings else ""
    return f"{trial.image} on {trial.storage} with pool {format_size(trial.buffer_pool)}{asked}"


def _repeated(end: Unfinished) -> str:
    """Return the message that a server repeated, shortened to fit a line."""
    if not end.repeated:
        return ""
    most = end.repeated[0]
    text = most.text if len(most.text) <= _ROOM_FOR_TEXT else f"{most.text[:_ROOM_FOR_TEXT]}…"
    return f", saying {most.times:,} times '{text}'"
