"""Sampling of an instance: the thread that takes samples, and the file that has each on disk as it comes."""

from __future__ import annotations

import csv
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Generic, TypeVar

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
        for wait in self._waits():
            if self._stop.wait(wait):
                return
            try:
                self._record(self._take())
            except Exception as error:
                self.failure = error
                return

    def _waits(self) -> Iterator[float]:
        """Yield seconds to wait before each sample, counted from fixed times so that delays do not add up."""
        due = time.monotonic()
        while True:
            yield max(0.0, due - time.monotonic())
            due += self._every
