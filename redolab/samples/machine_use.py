"""What a machine does while a server is under load: its processors, and the device under the data."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from redolab.clock import now
from redolab.machine.device import BlockDevice, DeviceCounters


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSample(DeviceCounters):
    """Counts of the device since it was there, and of the processors since the machine was started, at one instant."""

    monotonic: float
    cpu_busy: float
    """Seconds that all processors together have spent on something."""
    cpu_all: float
    """Seconds that all processors together have had."""


def machine_sample(device: BlockDevice) -> MachineSample:
    """The counts now."""
    at, counters, times = now(), device.counters(), psutil.cpu_times()
    idle = times.idle + times.iowait
    # Time of guests is part of the users' already (Documentation/filesystems/proc.rst).
    everything = idle + times.user + times.nice + times.system + times.irq + times.softirq + times.steal
    return MachineSample(monotonic=at.monotonic, cpu_busy=everything - idle, cpu_all=everything, **asdict(counters))


def read_machine_samples(path: Path) -> Sequence[MachineSample]:
    """The samples in a CSV file of them; a torn last line is left out."""
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if None not in row.values()]
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
        for row in rows
    ]
