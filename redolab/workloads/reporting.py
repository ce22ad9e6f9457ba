"""A program whose clients load a server, and report in lines of text."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from redolab.clock import now
from redolab.errors import WorkloadFailed
from redolab.machine import processes
from redolab.machine.processes import Command, Process

_LAST_LINES = 8

R = TypeVar("R")


class ReportingRun(Generic[R]):
    """A program in progress. `report_in` parses a line with its arrival (monotonic); None: the line is no report."""

    def __init__(self, program: str, process: Process, report_in: Callable[[str, float], R | None]) -> None:
        self._program = program
        self._report_in = report_in
        self._other_lines: list[str] = []
        self.process = process

    def reports(self, seconds: float = 0.0) -> Sequence[R]:
        """Return the reports since the last call, and those of the next `seconds`, in order."""
        reports = []
        for line in self.process.lines(now().monotonic + seconds):
            report = None if line.arrival is None else self._report_in(line.text, line.arrival)
            if report is not None:
                reports.append(report)
            else:
                # Errors are not among the reports, and a program can go on reporting after one.
                self._other_lines = [*self._other_lines[1 - _LAST_LINES :], line.text]
        return reports

    def check_running(self) -> None:
        """Raise `WorkloadFailed` if the program has ended."""
        status = self.process.wait(0)
        if status is not None:
            raise self.failure(f"ended by itself with status {status}")

    def failure(self, problem: str) -> WorkloadFailed:
        """Return an error of the program, with its last lines that are no reports."""
        self.reports()
        return WorkloadFailed(f"{self._program} {problem}", "its last lines are below", self._other_lines)


@contextmanager
def running(
    program: str, command: Command, output: Path, report_in: Callable[[str, float], R | None]
) -> Iterator[ReportingRun[R]]:
    """Run a program during the block, and kill it at its end. Its output goes to the file `output`."""
    process = processes.start(command, output)
    try:
        yield ReportingRun(program, process, report_in)
    finally:
        process.stop(signal.SIGKILL)


def no_report(_line: str, _arrival: float) -> str | None:
    """Return None: the program's lines are no reports."""
    return None
