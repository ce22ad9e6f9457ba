"""Under which load: what writes to an instance until it is told to stop."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from redolab.hosts import Host
from redolab.tools import Tools

DATABASE = "redolab"
"""The schema in which everything the lab makes lies."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The workloads' tables: sysbench's `sbtest1` … , all of one size."""

    count: int
    rows: int
    """Rows of each."""

    def names(self) -> list[str]:
        """Their names."""
        return [f"sbtest{number}" for number in range(1, self.count + 1)]


class RunningWorkload(Protocol):
    """A workload that writes to an instance."""

    def commits_per_second(self) -> float | None:
        """What its clients counted in the last second, once they have."""

    def check_running(self) -> None:
        """Raises `WorkloadFailed` if it has ended by itself."""


class Workload(Protocol):
    """A kind of load, an entry of `provision/workloads.toml`."""

    @property
    def about(self) -> str:
        """What it does, in a line."""

    def content(self) -> str:
        """What decides its load as far as the project has it: two workloads of equal content are the same."""

    def run(
        self, host: Host, tools: Tools, instance: Path, tables: Tables, threads: int, output: Path
    ) -> AbstractContextManager[RunningWorkload]:
        """While in it: so many clients write to the instance in that folder; what they say goes to the file `output`."""
