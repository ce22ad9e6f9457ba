"""The shortest statements, by sysbench."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redolab.clock import now
from redolab.errors import WorkloadFailed
from redolab.machine import processes
from redolab.machine.processes import Command, Process
from redolab.machine.tools import Tools
from redolab.workloads.sysbench import SCRIPTS, connection_arguments

_SCRIPT = SCRIPTS / "select_1.lua"
_EVENTS = re.compile(r"total number of events:\s+(\d+)")
_SECONDS = re.compile(r"total time:\s+([\d.]+)s")
_BAR = re.compile(r"^\s*([\d.]+) \|\**\s*(\d+)\s*$", re.MULTILINE)
_LONGER = 120.0
_LAST_LINES = 8


@dataclass(frozen=True, slots=True)
class Answered:
    """What the clients counted; the histogram is (milliseconds, statements), the quickest first."""

    statements: int
    seconds: float
    histogram: Sequence[tuple[float, int]]

    def percentile_ms(self, share: float) -> float | None:
        """The latency that this share of the statements did not exceed, by the classes of sysbench's histogram."""
        wanted = share * sum(count for _, count in self.histogram)
        for milliseconds, count in self.histogram:
            wanted -= count
            if wanted <= 0:
                return milliseconds
        return None


def ask(tools: Tools, instance: Path, *, connections: int, seconds: int, output: Path) -> Answered:
    """Let so many clients ask for so long, each as fast as it is answered. Raises `WorkloadFailed`."""
    with asking(tools, instance, connections=connections, seconds=seconds, output=output) as process:
        status = process.wait(seconds + _LONGER)
    said = [line.text for line in process.lines(now().monotonic)]
    found = answered("\n".join(said))
    if status != 0 or found is None:
        raise WorkloadFailed(
            f"sysbench could not ask (status {status})", "its last lines are below", said[-_LAST_LINES:]
        )
    return found


@contextmanager
def asking(
    tools: Tools, instance: Path, *, connections: int, seconds: int, output: Path, answers: Path | None = None
) -> Iterator[Process]:
    """While in it: the clients ask. With `answers` each writes there how many answers it had when the server went."""
    sysbench = tools.get("sysbench")
    arguments = [
        *connection_arguments(sysbench, _SCRIPT, connections),
        *("--db-ps-mode=disable", "--histogram=on", f"--time={seconds}", "--events=0"),
        *([f"--answers={answers}"] if answers else []),
        "run",
    ]
    process = processes.start(Command(arguments, folder=instance, environment=sysbench.environment), output)
    try:
        yield process
    finally:
        process.stop(signal.SIGKILL)


def answered(text: str) -> Answered | None:
    """What sysbench's report says; None if it is none."""
    events, took = _EVENTS.search(text), _SECONDS.search(text)
    if events is None or took is None:
        return None
    bars = [(float(milliseconds), int(count)) for milliseconds, count in _BAR.findall(text)]
    return Answered(int(events[1]), float(took[1]), bars)
