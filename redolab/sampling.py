"""The redo counters of an instance at one instant, and series of them.

A sample is one statement: LSN and `os_log_written` from two statements belong to two instants, and their ratio to none.
"""

from __future__ import annotations

import csv
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import IO, TypeVar

from redolab.hosts import Instant

C = TypeVar("C", bound="Counters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What a server says of its redo log; None where it does not say. Sizes and ages in bytes, LSNs as they are."""

    lsn: int | None = None
    flushed_lsn: int | None = None
    checkpoint_lsn: int | None = None
    checkpoint_age: int | None = None
    flush_forced_age: int | None = None
    """The age at which the server flushes pages as fast as it can."""
    users_wait_age: int | None = None
    """The age at which statements wait for that flushing."""
    os_log_written: int | None = None
    log_padded: int | None = None
    log_writes: int | None = None
    log_write_requests: int | None = None
    dirty_pages: int | None = None
    pages_written: int | None = None
    page_size: int | None = None
    uptime: int | None = None

    def with_age(self: C) -> C:
        """These with the checkpoint age, where both its ends are known and the server does not say it itself."""
        if self.lsn is None or self.checkpoint_lsn is None or self.checkpoint_age is not None:
            return self
        return replace(self, checkpoint_age=self.lsn - self.checkpoint_lsn)

    def completed_by(self, other: Counters) -> Counters:
        """These, and what only `other` has."""
        names = [each.name for each in fields(Counters)]
        both = {
            name: getattr(self, name) if getattr(self, name) is not None else getattr(other, name) for name in names
        }
        return Counters(**both)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Counters):
    """Counters with the moment they were asked for, in seconds on the host's clocks."""

    monotonic: float
    wall: float | None
    """None where what was collected does not tell it."""


def sample_at(instant: Instant, counters: Counters) -> Sample:
    """The counters as of an instant."""
    return Sample(monotonic=instant.monotonic, wall=instant.wall, **asdict(counters))


class SampleFile:
    """A CSV file of samples, each on the disk as it comes: whatever crashes loses at most the last."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = path.open("w", newline="")
        self._writer = csv.DictWriter(self._file, [field.name for field in fields(Sample)])
        self._writer.writeheader()
        self._file.flush()

    def append(self, sample: Sample) -> None:
        """Write one more."""
        self._writer.writerow(asdict(sample))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_samples(path: Path) -> Sequence[Sample]:
    """The samples in a file that a `SampleFile` wrote; a torn last line is left out."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [sample for row in rows if (sample := _sample(row)) is not None]


def _sample(row: dict[str, str | None]) -> Sample | None:
    if any(value is None for value in row.values()):
        return None
    clocks = {"monotonic", "wall"}
    try:
        counters = {name: int(value) for name, value in row.items() if value and name not in clocks}
        wall = float(row["wall"]) if row["wall"] else None
        return Sample(monotonic=float(row["monotonic"] or ""), wall=wall, **counters)
    except ValueError:
        return None


class Sampler:
    """Takes a sample every `every` seconds in a thread of its own, and hands each to `record`."""

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
        # A server that hangs must not hold up whoever wants to end it; the thread ends with the server.
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
        """Seconds to wait before each sample, counted from fixed points so that delays do not add up."""
        due = time.monotonic()
        while True:
            yield max(0.0, due - time.monotonic())
            due += self._every
