"""Numbered point selects at a fixed rate: the log of a server can be compared with the statements sent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from redolab.clock import now
from redolab.machine import files
from redolab.machine.tools import Tools
from redolab.workloads.data import DATABASE
from redolab.workloads.reporting import ReportingRun, running
from redolab.workloads.sysbench import sysbench_command

ROWS = 10_000
WHOLE = r"\ASELECT /\* redolab (\d+) of (\d+) \*/ c FROM numbered WHERE id=\d+ /\* (\d+) \*/\z"
"""Pattern, for polars, of a whole numbered statement: its number, its client's number, its number again."""
PART = r"\A\z|\ASELECT /|redolab|FROM numbered"
"""Pattern of a fragment of a numbered statement; the empty text matches too."""
_NOTES = "numbered-notes"
_BATCH = 1000
_REPORT = re.compile(r"\[ (\d+)s \] .*?qps: ([\d.]+) .*?lat \(ms,100%\): ([\d.]+)")
_LONGER = 60.0


@dataclass(frozen=True, slots=True)
class Second:
    """Report of sysbench on one second of its load."""

    number: int
    """Number of the second in the load, from 1 on."""
    per_second: float
    """Statements answered in that second."""
    longest_ms: float
    """Longest time from a statement's due time to its answer, in milliseconds; sysbench's classes are 2 % wide."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Times at which a client sent its statements and received the answers, in nanoseconds of CLOCK_MONOTONIC."""

    sent: NDArray[np.int64]
    answered: NDArray[np.int64]


def statements_before() -> Iterator[str]:
    """Yield the statements that make and fill the table that clients read."""
    yield f"CREATE DATABASE IF NOT EXISTS {DATABASE}"
    yield f"CREATE TABLE {DATABASE}.numbered (id INT NOT NULL PRIMARY KEY, c CHAR(120) NOT NULL) ENGINE=InnoDB"
    for first in range(1, ROWS + 1, _BATCH):
        rows = ", ".join(f"({row}, REPEAT('x', 120))" for row in range(first, first + _BATCH))
        yield f"INSERT INTO {DATABASE}.numbered VALUES {rows}"


class NumberedLoad:
    """Load of numbered statements in progress."""

    def __init__(self, clients: ReportingRun[Second], notes: Path, connections: int) -> None:
        self._clients = clients
        self._notes = notes
        self._connections = connections
        self.seconds: list[Second] = []
        """Reports of all seconds so far."""

    def wait_for(self, second: int, seconds: float) -> None:
        """Read until that second was reported. Raises `WorkloadFailed` if it was not within `seconds`."""
        deadline = now().monotonic + seconds
        while not self.seconds or self.seconds[-1].number < second:
            self._read(0.02)
            if now().monotonic > deadline or self._clients.process.wait(0) is not None:
                raise self._clients.failure(f"did not report its second {second}")

    def wait_end(self) -> Sequence[Sent]:
        """Wait until the load has ended. Return the statements that each client has sent. Raises `WorkloadFailed`."""
        status = self._clients.process.wait(_LONGER)
        self._read(0.1)
        if status is None:
            raise self._clients.failure(f"did not end within {_LONGER:.0f} s")
        return [_sent(self._notes / str(client)) for client in range(self._connections)]

    def _read(self, seconds: float) -> None:
        """Read sysbench's output for `seconds`. Raises `WorkloadFailed` if it has ended with an error."""
        self.seconds += self._clients.reports(seconds)
        if (status := self._clients.process.wait(0)) not in (None, 0):
            raise self._clients.failure(f"ended with status {status}")


@contextmanager
def numbered_load(
    tools: Tools, instance: Path, *, clients: int, rate: int | None, seconds: int, output: Path
) -> Iterator[NumberedLoad]:
    """Run `clients` that send numbered statements for `seconds`, at `rate` a second in all; None: as fast as possible.

    `instance`: the folder of the instance. Raises `WorkloadFailed`, also if the server cannot keep up with the rate.
    """
    notes = output.parent / _NOTES
    files.remove(notes)
    files.make_folder(notes)
    command = sysbench_command(
        tools,
        instance,
        "numbered_selects.lua",
        clients,
        *(f"--notes={notes}", f"--rows={ROWS}", f"--rate={rate or 0}", "--db-ps-mode=disable"),
        *(f"--time={seconds}", "--events=0", "--report-interval=1", "--percentile=100", "run"),
    )
    try:
        with running("sysbench", command, output, lambda line, _: second_of(line)) as run:
            yield NumberedLoad(run, notes, clients)
    finally:
        files.remove(notes)


def second_of(line: str) -> Second | None:
    """Return the report in a line of sysbench's output; None if the line has none."""
    found = _REPORT.search(line)
    return None if found is None else Second(int(found[1]), float(found[2]), float(found[3]))


def _sent(notes: Path) -> Sent:
    table = np.loadtxt(notes, dtype=np.int64, ndmin=2)
    return Sent(table[:, 0], table[:, 1]) if table.size else Sent(np.zeros(0, np.int64), np.zeros(0, np.int64))
