"""The shortest statements, by sysbench."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from redolab.machine import files
from redolab.machine.tools import Tools
from redolab.workloads.reporting import ReportingRun, no_report, running
from redolab.workloads.sysbench import sysbench_command, totals_in

_OUTPUT = "clients.log"
_BAR = re.compile(r"^\s*([\d.]+) \|\**\s*(\d+)\s*$", re.MULTILINE)
_LONGER = 120.0


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
    with running_clients(tools, instance, connections, seconds) as clients:
        status = clients.process.wait(seconds + _LONGER)
    report = parse_report((instance / _OUTPUT).read_text(errors="replace"))
    if status != 0 or report is None:
        raise clients.failure(f"could not ask (status {status})")
    return report


def running_clients(
    tools: Tools, instance: Path, connections: int, seconds: int, *options: str
) -> AbstractContextManager[ReportingRun[str]]:
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
    return running("sysbench", command, instance / _OUTPUT, no_report)


def answers_by_client(folder: Path) -> list[int]:
    """Return the number of answers of each client that has noticed the end of its server."""
    return [int((folder / name).read_text()) for name in files.names(folder) if name.isdigit()]


def parse_report(text: str) -> ClientReport | None:
    """Return the counts of a report of sysbench; None if the text is no report."""
    totals = totals_in(text)
    if totals is None:
        return None
    statements, seconds = totals
    bars = [(float(milliseconds), int(count)) for milliseconds, count in _BAR.findall(text)]
    return ClientReport(statements, seconds, bars)
