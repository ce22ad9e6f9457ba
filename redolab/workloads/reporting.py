"""A workload's program that runs and reports in lines of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from typing_extensions import override

from redolab.clock import now
from redolab.errors import WorkloadFailed
from redolab.machine.processes import Process
from redolab.workloads.contract import RunningWorkload
from redolab.workloads.data import WorkloadMoment

_LAST_LINES = 8


class ReportingRun(RunningWorkload):
    """A program in progress. `moment_of` parses a line with its arrival (monotonic); None: the line is no report."""

    def __init__(
        self, program: str, process: Process, moment_of: Callable[[str, float], WorkloadMoment | None]
    ) -> None:
        self._program = program
        self._process = process
        self._moment_of = moment_of
        self._said: list[str] = []

    @override
    def moments(self) -> Sequence[WorkloadMoment]:
        moments = []
        for line in self._process.lines(now().monotonic):
            moment = None if line.arrival is None else self._moment_of(line.text, line.arrival)
            if moment is not None:
                moments.append(moment)
            else:
                # Errors are not among the reports, and a program can go on reporting after one.
                self._said = [*self._said[1 - _LAST_LINES :], line.text]
        return moments

    @override
    def check_running(self) -> None:
        status = self._process.wait(0)
        if status is not None:
            self.moments()
            raise WorkloadFailed(
                f"{self._program} ended by itself with status {status}", "its last lines are below", self._said
            )
