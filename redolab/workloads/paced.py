"""Clients that send statements at times fixed beforehand, and note for each its due time and its acknowledgement."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redolab.clock import now
from redolab.errors import WorkloadFailed
from redolab.machine import files
from redolab.machine.tools import Tools
from redolab.workloads.data import DATABASE
from redolab.workloads.reporting import ReportingRun, no_report, running
from redolab.workloads.sysbench import sysbench_command

_TABLE = f"{DATABASE}.paced"
_ROWS = 100
"""Rows of each client."""
_MICROSECONDS = 1e6
_LOOK_EVERY = 0.05


@dataclass(frozen=True, slots=True)
class PacedStatement:
    """A statement that was acknowledged; seconds of the monotonic clock."""

    due: float
    done: float

    @property
    def waited(self) -> float:
        """Return the seconds from the statement's due time to its acknowledgement."""
        return self.done - self.due


def paced_tables(clients: int) -> Sequence[str]:
    """Return the statements that make and fill the table for that many clients."""
    values = ", ".join(f"({number}, 0)" for number in range(clients * _ROWS))
    return (
        f"CREATE DATABASE IF NOT EXISTS {DATABASE}",
        f"CREATE TABLE {_TABLE} (id INT NOT NULL PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB",
        f"INSERT INTO {_TABLE} VALUES {values}",
    )


class PacedRun:
    """Load of paced updates in progress."""

    def __init__(self, clients: ReportingRun[str], notes: Path, connections: int) -> None:
        self._clients = clients
        self._notes = notes
        self._connections = connections

    def statements(self) -> list[PacedStatement]:
        """Return the statements acknowledged so far, in the order of their acknowledgements."""
        found = [each for number in range(self._connections) for each in self._of(number)]
        return sorted(found, key=lambda each: each.done)

    def wait(self, until: float, look: Callable[[], None]) -> None:
        """Wait until that time of the monotonic clock; `look` is called every now and then.

        Raises `WorkloadFailed` if the clients end before.
        """
        while (left := until - now().monotonic) > 0:
            self.check_running()
            look()
            time.sleep(min(left, _LOOK_EVERY))

    def wait_answered(self, due: float, seconds: float, look: Callable[[], None]) -> None:
        """Wait until every statement due before that time has been acknowledged.

        Raises `WorkloadFailed` if the clients end, or if the acknowledgements take longer than the limit.
        """
        deadline = now().monotonic + seconds
        while not all(self._has_answered(number, due) for number in range(self._connections)):
            if now().monotonic > deadline:
                raise WorkloadFailed(
                    f"the clients are behind by more than {seconds:.0f} s",
                    "the server does not keep up with them: choose a smaller RATE",
                )
            self.wait(now().monotonic + _LOOK_EVERY, look)

    def check_running(self) -> None:
        """Raise `WorkloadFailed` if the clients have ended."""
        self._clients.check_running()

    def _has_answered(self, number: int, due: float) -> bool:
        noted = self._of(number)
        # A client sends them in order: one that was due later has been sent only when all before were acknowledged.
        return bool(noted) and noted[-1].due >= due

    def _of(self, number: int) -> list[PacedStatement]:
        file = self._notes / str(number)
        # The text after the last line break is still being written.
        lines = file.read_text().split("\n")[:-1] if file.exists() else []
        return [PacedStatement(*(int(part) / _MICROSECONDS for part in line.split())) for line in lines]


@contextmanager
def paced_updates(tools: Tools, instance: Path, folder: Path, *, clients: int, rate: float) -> Iterator[PacedRun]:
    """Run clients that update rows of their own in the instance, `rate` times a second in all.

    The clients note acknowledged updates in `folder`, which must not be on the storage under test.
    """
    notes = folder / "notes"
    files.make_folder(notes)
    for name in files.names(notes):
        files.remove(notes / name)
    command = sysbench_command(
        tools,
        instance,
        "paced_updates.lua",
        clients,
        *(f"--notes={notes}", f"--rows={_ROWS}", f"--interval-us={round(clients / rate * _MICROSECONDS)}"),
        *("--time=0", "--events=0", "run"),
    )
    with running("sysbench", command, folder / "clients.log", no_report) as run:
        yield PacedRun(run, notes, clients)
