"""Records of a growing log: existing ones at the times of their stamps, then each at its arrival."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from redolab.clock import Instant
from redolab.errorlog.stamps import MICROSECONDS, Clock, Record, Stamp, records
from redolab.errors import InvalidInput

_LAST = 64 << 20
"""Bytes at the end of the log that are read at first: a recovery writes more only if it is stuck."""
_PIECE = 1 << 20
_QUARTER = 900.0
"""Seconds between two time zones."""
_SKEW = 120.0
"""Seconds by which a stamp may be after the time when its file was written."""
_HALF_A_DAY = 12 * 3600.0
_EXACTLY = 5.0
_LONGEST = 4096
_SILENCE = 1.0
"""Seconds without a line after which a pipe has nothing more from before."""
_BACKLOG = 5.0
"""Seconds that a pipe may take to bring what there was, where it is never silent: a stuck server repeats a line."""


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """A record of a log, with its time."""

    record: Record
    at: float
    """Time at which it was written, in seconds of the monotonic clock."""


class LogTail:
    """A log that grows."""

    def __init__(self, path: Path | None) -> None:
        """Open a file, which may be rotated or cut, or standard input (None). Raises `InvalidInput` if that fails."""
        self._source = _source(path)
        self._is_behind = True
        self._existing: list[Record] = []
        """Records that were there at first, as far as they have been read."""
        self.unfinished = ""
        """The beginning of a line whose end has not come yet."""
        self._rest = b""

    def new_records(self, now: Instant) -> list[LoggedRecord]:
        """Return the records since the last call; from a pipe none until its backlog has come, then all of it."""
        # Servers that were killed can leave NUL bytes.
        *lines, self._rest = (self._rest + self._source.read()).replace(b"\0", b"\n").split(b"\n")
        if self.has_ended and self._rest:
            lines, self._rest = [*lines, self._rest], b""
        self.unfinished = self._rest[-_LONGEST:].decode("utf-8", "replace")
        new = [record for line in lines if line for record in records(line.decode("utf-8", "replace"))]
        if not self._is_behind:
            return [LoggedRecord(record, now.monotonic) for record in new]
        # The last of all existing records shows what the stamps mean, and what the server does now.
        self._existing += new
        if not self._source.has_caught_up:
            return []
        self._is_behind = False
        existing, self._existing = self._existing, []
        return [LoggedRecord(record, at) for record, at in zip(existing, self._times(existing, now), strict=True)]

    @property
    def has_ended(self) -> bool:
        """True if no line can follow."""
        return self._source.has_ended

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def _times(self, existing: Sequence[Record], now: Instant) -> Sequence[float]:
        """Return when each existing record was written; a line without a stamp belongs to the one before."""
        last_stamps = {(clock, stamp.form): stamp for each in existing for clock, stamp in _stamps(each)}
        # Seconds from stamps to the epoch, by clock and form.
        shifts = {form: _shift(stamp, self._source.written, now.wall) for form, stamp in last_stamps.items()}
        times, last = list[float](), now.monotonic
        for record in existing:
            stamps = (stamp.us / MICROSECONDS + shifts[clock, stamp.form] for clock, stamp in _stamps(record))
            if (wall := next(stamps, None)) is not None:
                last = now.monotonic_at(wall)
            times.append(last)
        # Lines come in order. Where a clock was set back, those before have later stamps than those after.
        latest = accumulate(reversed(times), min, initial=now.monotonic)
        return list(latest)[:0:-1]


def _shift(last: Stamp, written: float | None, now: float) -> float:
    """Return the seconds to add to stamps of one form, the last of which is `last`.

    Stamps without an offset may be of this machine's zone, of UTC, or of another zone. The nearest one that lies before
    the log was written is taken.
    """
    if last.offset is not None and last.dated:
        return 0.0
    at, until = last.us / MICROSECONDS, now if written is None else written
    if not last.dated:
        return until - at
    zones = [-float(time.localtime(until).tm_gmtoff), 0.0]
    possible = [shift for shift in zones if -_SKEW <= until - (at + shift) <= _HALF_A_DAY]
    nearest = min(possible, key=lambda shift: until - (at + shift), default=None)
    zone = round((until - at) / _QUARTER) * _QUARTER
    # Silence lasts any time, a zone is whole quarters of an hour away.
    is_zone = abs(until - at - zone) <= _EXACTLY and (nearest is None or until - at - nearest > _QUARTER)
    return zone if nearest is None or is_zone else nearest


def _stamps(record: Record) -> list[tuple[Clock, Stamp]]:
    """Return the stamps of a record, the collector's first if it has date and zone: a server's zone may differ."""
    both = [(Clock.SERVER, record.server), (Clock.COLLECTOR, record.collector)]
    stamps = [(clock, stamp) for clock, stamp in both if stamp is not None]
    return sorted(stamps, key=lambda each: not (each[1].dated and each[1].offset is not None))


def _source(path: Path | None) -> _File | _Pipe:
    if path is None:
        if sys.stdin is None:
            raise InvalidInput("standard input is closed", "name the server's error log, or --pid")
        return _Pipe(sys.stdin.fileno())
    if path.exists() and not path.is_file():
        return _Pipe(os.open(path, os.O_RDONLY))
    return _File(path)


class _File:
    """A file, which may be rotated or cut while it is read.

    `written`: when the last line that was there at first was written, in seconds since the epoch; `has_caught_up`: True
    if all that was there at first has been read; `has_ended`: True if nothing more can come.
    """

    has_caught_up = True
    has_ended = False

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise InvalidInput(f"{path}: {error.strerror}", "name the server's error log, or --pid") from error
        status = os.fstat(self._file.fileno())
        self.written: float | None = status.st_mtime
        if status.st_size > _LAST:
            self._file.seek(status.st_size - _LAST)
            self._file.readline()

    def read(self) -> bytes:
        chunk = self._file.read()
        if chunk:
            return chunk
        try:
            there, ours = self._path.stat(), os.fstat(self._file.fileno())
            if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
                following = self._path.open("rb")
                self._file.close()
                self._file = following
            elif there.st_size < self._file.tell():
                self._file.seek(0)
            else:
                return b""
        except OSError:
            # The log is being rotated, or may not be read yet: the open file is read on.
            return b""
        # A line begun in the old file does not continue in the new one.
        return b"\n" + self._file.read()

    def close(self) -> None:
        self._file.close()


class _Pipe:
    """A pipe, with the members of `_File`."""

    written: float | None = None

    def __init__(self, number: int) -> None:
        self._number = number
        self._first: float | None = None
        self._heard: float | None = None
        self.has_ended = False

    def read(self) -> bytes:
        chunks = []
        while not self.has_ended and select.select([self._number], [], [], 0)[0]:
            chunk = os.read(self._number, _PIECE)
            self.has_ended = not chunk
            chunks.append(chunk)
        if any(chunks):
            self._heard = time.monotonic()
            self._first = self._first or self._heard
        return b"".join(chunks)

    @property
    def has_caught_up(self) -> bool:
        if self.has_ended or self._heard is None or self._first is None:
            return self.has_ended
        now = time.monotonic()
        return now - self._heard >= _SILENCE or now - self._first >= _BACKLOG

    def close(self) -> None:
        pass
