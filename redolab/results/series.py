"""Series recorded on the way to a crash, one CSV file each. A torn last line of a killed lab is left out."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from redolab.machine.facts import MachineSample
from redolab.servers.redo_counters import Sample
from redolab.workloads.data import WorkloadReport

T = TypeVar("T")


def read_reports(path: Path) -> Sequence[WorkloadReport]:
    """Return the workload's reports in a CSV file."""
    return _read(path, WorkloadReport)


def read_machine_samples(path: Path) -> Sequence[MachineSample]:
    """Return the machine's samples in a CSV file."""
    return _read(path, MachineSample)


def read_samples(path: Path) -> Sequence[Sample]:
    """Return the samples in a file that a `SampleFile` wrote."""
    return _read(path, Sample)


def _read(path: Path, kind: type[T]) -> list[T]:
    """Return the rows that end in a line feed and are of that kind: a torn line can end in a number cut short."""
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    found = []
    for row in csv.DictReader(whole.decode().splitlines(), restval="missing"):
        try:
            found.append(msgspec.convert({name: value or None for name, value in row.items()}, kind, strict=False))
        except msgspec.ValidationError:
            continue
    return found
