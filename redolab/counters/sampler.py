"""Sampling of an instance and its machine: a thread that takes samples, and a file with each on disk as it comes."""

from __future__ import annotations

import csv
import math
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Generic, TypeVar

import psutil

from redolab.clock import now
from redolab.machine.device import BlockDevice
from redolab.machine.facts import MachineSample
from redolab.servers.redo_counters import Sample

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


R = TypeVar("R", bound="DataclassInstance")


class CsvFile(Generic[R]):
    """A CSV file of rows of a data class, each on disk as it comes: a crash loses at most the last."""

    def __init__(self, path: Path, kind: type[R]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = path.open("w", newline="")
        self._writer = csv.DictWriter(self._file, [each.name for each in fields(kind)])
        self._writer.writeheader()
        self._file.flush()

    def append(self, row: R) -> None:
        """Write one more row."""
        self._writer.writerow(asdict(row))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class SampleFile(CsvFile[Sample]):
    """A CSV file of samples in the order of time, even if two threads write to it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, Sample)
        self._writing = threading.Lock()
        self._newest = -math.inf

    def append(self, row: Sample) -> None:
        """Write one more sample, unless it is older than the last: decreasing counters would look like a restart."""
        with self._writing:
            if row.monotonic >= self._newest:
                self._newest = row.monotonic
                super().append(row)


class Sampler:
    """A thread that takes a sample every `every` seconds and passes it to `record`."""

    def __init__(self, take: Callable[[], Sample], every: float, record: Callable[[Sample], None]) -> None:
        self._take = take
        self._every = every
        self._record = record
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self.failure: Exception | None = None

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        # A server that hangs must not delay its end; the thread ends with the server.
        self._thread.join(timeout=2.0)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            try:
                self._record(self._take())
            except Exception as error:
                self.failure = error
                return
            # Counted from fixed times, so that delays do not add up.
            due += self._every


def machine_sample(device: BlockDevice) -> MachineSample:
    """Return the present use of the machine: its CPUs, and the device under the data."""
    at, counters, times = now(), device.counters(), psutil.cpu_times()
    idle = times.idle + times.iowait
    # Time of guests is in the users' already (Documentation/filesystems/proc.rst).
    everything = idle + times.user + times.nice + times.system + times.irq + times.softirq + times.steal
    return MachineSample(monotonic=at.monotonic, cpu_busy=everything - idle, cpu_all=everything, **asdict(counters))
