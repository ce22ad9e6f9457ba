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
from redolab.machine import files, processes
from redolab.machine.processes import Process
from redolab.machine.tools import Tools
from redolab.workloads.sysbench import sysbench_command

_EVENTS = re.compile(r"total number of events:\s+(\d+)")
_SECONDS = re.compile(r"total time:\s+([\d.]+)s")
_BAR = re.compile(r"^\s*([\d.]+) \|\**\s*(\d+)\s*$", re.MULTILINE)
_LONGER = 120.0
_LAST_LINES = 8


@dataclass(frozen=True, slots=True)
class ClientReport:
    """Counts of the clients. The histogram has (milliseconds, statements), the quickest first."""

    statements: int
    seconds: float
    histogram: Sequence[tuple[float, int]]

    def percentile_ms(self, share: float) -> float | None:
        """Return the latency that this share of the statements did not exceed, by sysbench's histogram."""
        wanted = share * sum(count for _, count in self.histogram)
        for milliseconds, count in self.histogram:
            wanted -= count
            if wanted <= 0:
                return milliseconds
        return None


def run_clients(tools: Tools, instance: Path, connections: int, seconds: int) -> ClientReport:
    """Let clients send statements for `seconds`, each as soon as it has an answer. Raises `WorkloadFailed`."""
    with running_clients(tools, instance, connections, seconds) as process:
        status = process.wait(seconds + _LONGER)
    lines = [line.text for line in process.lines(now().monotonic)]
    report = parse_report("\n".join(lines))
    if status != 0 or report is None:
        raise WorkloadFailed(
            f"sysbench could not ask (status {status})", "its last lines are below", lines[-_LAST_LINES:]
        )
    return report


@contextmanager
def running_clients(tools: Tools, instance: Path, connections: int, seconds: int, *options: str) -> Iterator[Process]:
    """Let clients send statements during the block.

    With `--answers=FOLDER` each writes its number of answers there once the server is gone.
    """
    command = sysbench_command(
        tools,
        instance,
        "select_1.lua",
        connections,
        *("--db-ps-mode=disable", "--histogram=on", f"--time={seconds}", "--events=0", *options, "run"),
    )
    process = processes.start(command, instance / "clients.log")
    try:
        yield process
    finally:
        process.stop(signal.SIGKILL)


def answers_by_client(folder: Path) -> list[int]:
    """Return the number of answers of each client that has noticed the end of its server."""
    return [int((folder / name).read_text()) for name in files.names(folder) if name.isdigit()]


def parse_report(text: str) -> ClientReport | None:
    """Return the counts of a report of sysbench; None if the text is no report."""
    events, took = _EVENTS.search(text), _SECONDS.search(text)
    if events is None or took is None:
        return None
    bars = [(float(milliseconds), int(count)) for milliseconds, count in _BAR.findall(text)]
    return ClientReport(int(events[1]), float(took[1]), bars)
