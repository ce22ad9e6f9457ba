"""Tablespace files that a server checks one by one: at its start, and once more after it has recovered.

With many tables on a slow disk that takes longer than the redo (MySQL bugs 71822, 96340). MySQL 8.0 and later count
them in their log every 10 s (fil0fil.cc, dict0dict.cc); up to 5.6 one line says that it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesSeen:
    """Progress of a server with its files at one time."""

    validates: bool
    """True after the recovery, when the server validates that all are there."""
    done: int | None
    of: int | None
    """Total number of files; None where the log does not count them."""
    rate: float | None
    """Files a second; None until it is known."""
    left: float | None
    """Seconds for the rest, at that rate."""


@dataclass(slots=True)
class TablespaceFiles:
    """Files checked so far, while a server checks them; times in seconds of the clock on which lines arrive."""

    _validates: bool = False
    _of: int | None = None
    _by_thread: dict[str, int] = field(default_factory=dict)
    _first: tuple[float, int] | None = None
    """Time and number of files of the first line that counts them; None while the server checks none."""
    _last: float = 0.0
    """Time of the last such line."""

    def begin(self, at: float, of: int | None = None) -> None:
        """Begin to check `of` files."""
        self.end()
        self._first, self._of = (at, 0), of

    def end(self) -> None:
        """End the check: all files are done."""
        if self._first is not None:
            self._validates, self._of, self._by_thread, self._first = False, None, {}, None

    def checked(self, thread: str, done: int, at: float) -> None:
        """Take in the files that one thread has checked."""
        if self._first is not None:
            self._by_thread[thread], self._last = done, at

    def validated(self, done: int, of: int, at: float) -> None:
        """Take in the files that are validated after the recovery."""
        if not self._validates:
            self.end()
            self._validates, self._first = True, (at, done)
        self._of, self._by_thread, self._last = of, {"": done}, at

    def seen(self, now: float) -> FilesSeen | None:
        """Return the progress; None while the server checks no files."""
        if self._first is None:
            return None
        if self._of is None:
            return FilesSeen(validates=False, done=None, of=None, rate=None, left=None)
        since, before = self._first
        done = sum(self._by_thread.values())
        rate = (done - before) / (self._last - since) if self._last > since and done > before else None
        left = None if rate is None else max(0.0, (self._of - done) / rate - (now - self._last))
        return FilesSeen(validates=self._validates, done=done, of=self._of, rate=rate, left=left)
