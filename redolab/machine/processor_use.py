"""CPU time that went to others while the lab measured."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import psutil

from redolab.machine.facts import Disturbance


@dataclass(frozen=True, slots=True)
class ProcessorTimes:
    """Seconds summed over all CPUs since the machine was started."""

    in_programs: float
    """User time of all processes. Kernel threads, which also carry out the server's requests, have none."""
    ours: float
    """Part of `in_programs` that this process and its children used."""
    steal: float
    """Taken by the host for other virtual machines."""


def processor_times() -> ProcessorTimes:
    """Return the times up to now."""
    times = psutil.cpu_times()
    # Time of guests is part of the users' already (Documentation/filesystems/proc.rst).
    return ProcessorTimes(in_programs=times.user + times.nice, ours=_ours(), steal=times.steal)


def disturbance(before: ProcessorTimes, after: ProcessorTimes) -> Disturbance:
    """Return the CPU time that others used between two readings."""
    others = (after.in_programs - before.in_programs) - (after.ours - before.ours)
    return Disturbance(others=max(0.0, others), steal=max(0.0, after.steal - before.steal))


def _ours() -> float:
    """Return the user time of this process and all below it, including processes that have ended."""
    this = psutil.Process()
    seconds = 0.0
    for each in (this, *this.children(recursive=True)):
        with suppress(psutil.Error):
            times = each.cpu_times()
            seconds += times.user + times.children_user
    return seconds
