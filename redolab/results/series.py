"""Series recorded on the way to a crash, one CSV file each."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from redolab.machine.facts import MachineSample
from redolab.servers.redo_counters import Sample
from redolab.workloads.data import WorkloadMoment


def _rows(path: Path) -> list[dict[str, str]]:
    """Return the rows that end in a line feed: a torn last line can end in a number cut short."""
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    return list(csv.DictReader(whole.decode().splitlines()))


def read_moments(path: Path) -> Sequence[WorkloadMoment]:
    """Return the workload's reports in a CSV file; a torn last line is left out."""
    return [moment for row in _rows(path) if (moment := _moment(row)) is not None]


def _moment(row: dict[str, str]) -> WorkloadMoment | None:
    try:
        return WorkloadMoment(**{name: float(value) for name, value in row.items() if value})
    except (TypeError, ValueError):
        return None


def read_machine_samples(path: Path) -> Sequence[MachineSample]:
    """Return the machine's samples in a CSV file; a torn last line is left out."""
    return [
        MachineSample(
            monotonic=float(row["monotonic"]),
            cpu_busy=float(row["cpu_busy"]),
            cpu_all=float(row["cpu_all"]),
            reads=int(row["reads"]),
            read_bytes=int(row["read_bytes"]),
            writes=int(row["writes"]),
            written_bytes=int(row["written_bytes"]),
            busy=float(row["busy"]),
            waited=float(row["waited"]),
        )
        for row in _rows(path)
    ]


def read_samples(path: Path) -> Sequence[Sample]:
    """Return the samples in a file that a `SampleFile` wrote; a torn last line is left out."""
    return [sample for row in _rows(path) if (sample := _sample(row)) is not None]


def _sample(row: dict[str, str]) -> Sample | None:
    if any(value is None for value in row.values()):
        return None
    clocks = {"monotonic", "wall"}
    try:
        counters = {name: int(value) for name, value in row.items() if value and name not in clocks}
        wall = float(row["wall"]) if row["wall"] else None
        return Sample(monotonic=float(row["monotonic"] or ""), wall=wall, **counters)
    except ValueError:
        return None
