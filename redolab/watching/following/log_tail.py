"""The records of a log as they come: those that are there at first, at the times of their stamps, then each as it arrives."""

from __future__ import annotations

import os
import select
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from redolab.errors import InvalidInput
from redolab.timeline.stamps import MICROSECONDS, Record, Stamp, records

_LAST = 64 << 20
"""Bytes that are read of what is there: no recovery writes more, unless it is stuck."""
_PIECE = 1 << 20
_QUARTER = 900.0
"""Seconds between two time zones."""
_SILENCE = 1.0
"""Seconds without a line after which a pipe has nothing more from before."""


@dataclass(frozen=True, slots=True)
class Said:
    """A record and when it was written, in seconds since the epoch."""

    record: Record
    at: float


class _Source(Protocol):
    """Where a log comes from."""

    def read(self) -> bytes:
        """What has come since the last time."""

    def has_caught_up(self) -> bool:
        """Whether all that was there at first has been read."""

    def written(self) -> float | None:
        """When the last line that was there at first was written, in seconds since the epoch."""

    def has_ended(self) -> bool:
        """Whether nothing more can come."""

    def close(self) -> None:
        """Let go of it."""


class LogTail:
    """A log that grows."""

    def __init__(self, path: Path | None) -> None:
        """`path`: a file, which may be rotated or cut; None for standard input. Raises `InvalidInput` if it cannot be read."""
        self._source: _Source = _Pipe(sys.stdin.buffer) if path is None else _File(path)
        self._partial = b""
        self._is_behind = True
        self._shift: float | None = None
        """Seconds from the stamps to the epoch."""
        self._last = 0.0

    def said(self) -> list[Said]:
        """What has come since it was asked last."""
        now = time.time()
        # Servers that were killed can leave NUL bytes.
        *lines, self._partial = (self._partial + self._source.read()).replace(b"\0", b"\n").split(b"\n")
        found = [record for line in lines for record in records(line.decode("utf-8", "replace"))]
        if not self._is_behind:
            return [Said(record, now) for record in found]
        if self._shift is None:
            self._shift = _shift([stamp for each in found if (stamp := _stamp(each)) is not None], self._source, now)
        said = [Said(record, self._at(record, now)) for record in found]
        self._is_behind = not self._source.has_caught_up()
        return said

    @property
    def has_ended(self) -> bool:
        """Whether no line can follow."""
        return self._source.has_ended()

    def close(self) -> None:
        """Let go of it."""
        self._source.close()

    def _at(self, record: Record, now: float) -> float:
        stamp = _stamp(record)
        if stamp is not None and self._shift is not None:
            self._last = min(now, stamp.us / MICROSECONDS + self._shift)
        # A line without a stamp belongs to the one before.
        return self._last or now


class _File:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _opened(path)
        status = os.fstat(self._file.fileno())
        self._written = status.st_mtime
        if status.st_size > _LAST:
            self._file.seek(status.st_size - _LAST)
            self._file.readline()

    def read(self) -> bytes:
        chunk = self._file.read()
        if chunk:
            return chunk
        try:
            there, ours = self._path.stat(), os.fstat(self._file.fileno())
        except FileNotFoundError:
            return b""
        if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            self._file.close()
            self._file = _opened(self._path)
        elif there.st_size < self._file.tell():
            self._file.seek(0)
        else:
            return b""
        return self._file.read()

    def has_caught_up(self) -> bool:
        return True

    def written(self) -> float | None:
        return self._written

    def has_ended(self) -> bool:
        return False

    def close(self) -> None:
        self._file.close()


class _Pipe:
    def __init__(self, stream: BinaryIO) -> None:
        self._number = stream.fileno()
        self._heard: float | None = None
        self._ended = False

    def read(self) -> bytes:
        chunks = []
        while not self._ended and select.select([self._number], [], [], 0)[0]:
            chunk = os.read(self._number, _PIECE)
            self._ended = not chunk
            chunks.append(chunk)
        if any(chunks):
            self._heard = time.monotonic()
        return b"".join(chunks)

    def has_caught_up(self) -> bool:
        return self._ended or (self._heard is not None and time.monotonic() - self._heard >= _SILENCE)

    def written(self) -> float | None:
        return None

    def has_ended(self) -> bool:
        return self._ended

    def close(self) -> None:
        pass


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}", "name the server's error log, or --pid") from error


def _stamp(record: Record) -> Stamp | None:
    return record.server or record.collector


def _shift(stamps: list[Stamp], source: _Source, now: float) -> float | None:
    """Seconds to be added to these stamps: they may be without a zone, a year or a day, or of a server in another zone."""
    if not stamps:
        return None
    last, written = stamps[-1], source.written()
    if written is not None:
        # A file was written when its last line was.
        return round((written - last.us / MICROSECONDS) / _QUARTER) * _QUARTER
    if last.of_day or not last.dated:
        return now - last.us / MICROSECONDS
    return 0.0 if last.offset is not None else -float(time.localtime(now).tm_gmtoff)
