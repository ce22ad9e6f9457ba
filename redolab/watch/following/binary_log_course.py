"""A server's reading of its last binary log file, as the kernel shows it: neither server logs how far it is.

Both read the whole last file after a crash, to learn which prepared transactions were committed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

_NAME = re.compile(r"(?!aria_log\.).*\.\d{6,}")
"""Name of a binary log file. The log of Aria's tables is numbered too."""
_POSITION = re.compile(r"^pos:\s+(\d+)$", re.MULTILINE)


class BinaryLogFile(msgspec.Struct, frozen=True, kw_only=True):
    """A binary log file that a server has open, in bytes."""

    position: int
    """Offset at which it reads next."""
    size: int

    @property
    def left(self) -> int:
        """Bytes not read yet; 0 of a file that is written."""
        return max(0, self.size - self.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryLogSeen:
    """Progress of a server with its last binary log file, in bytes."""

    done: int
    of: int
    rate: float | None
    """Bytes a second; None until it is known."""
    left: float | None
    """Seconds for the rest, at that rate."""


class BinaryLogCourse:
    """Progress by the looks at a server; times in seconds on one clock."""

    def __init__(self) -> None:
        self._first: tuple[float, BinaryLogFile] | None = None
        self._last: tuple[float, BinaryLogFile] | None = None

    def see(self, at: float, file: BinaryLogFile | None) -> None:
        """Take in the file that it has open; None if it has none."""
        if file is None or not file.left:
            self._first = self._last = None
            return
        if self._first is None or self._first[1].size != file.size or file.position < self._first[1].position:
            self._first = (at, file)
        # The kernel is not asked at each look.
        if self._last is None or file != self._last[1]:
            self._last = (at, file)

    def seen(self) -> BinaryLogSeen | None:
        """Return the progress; None while the server reads no binary log."""
        if self._first is None or self._last is None:
            return None
        (since, before), (at, file) = self._first, self._last
        moved = file.position - before.position
        rate = moved / (at - since) if moved > 0 and at > since else None
        return BinaryLogSeen(
            done=file.position, of=file.size, rate=rate, left=None if rate is None else file.left / rate
        )


def open_binary_log(process: Path) -> BinaryLogFile | None:
    """Return the binary log file of which a process has most left to read, by its folder in /proc; None without one."""
    with suppress(OSError):
        files = list(_open_binary_logs(process, (process / "fd").iterdir()))
        return max(files, key=lambda each: each.left, default=None)
    return None


def _open_binary_logs(process: Path, descriptors: Iterable[Path]) -> Iterable[BinaryLogFile]:
    for each in descriptors:
        # A descriptor may be closed meanwhile.
        with suppress(OSError):
            if not _NAME.fullmatch(each.readlink().name):
                continue
            position = _POSITION.search((process / "fdinfo" / each.name).read_text())
            if position is not None:
                yield BinaryLogFile(position=int(position[1]), size=each.stat().st_size)
