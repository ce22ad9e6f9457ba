"""The files of tables that a server looks at one by one: at its start, and once more after it has recovered.

With many tables on a slow disk that takes longer than the redo (MySQL bugs 71822, 96340). MySQL 8.0 and later count them in their
log every 10 s (fil0fil.cc, dict0dict.cc); up to 5.6 one line says that it begins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_FOUND = re.compile(r"Using \d+ threads? to scan (?P<of>\d+) tablespace files")
_CHECKED = re.compile(r"(?P<thread>Thread# \d+) - Checked (?P<done>\d+)/\d+ files")
_VALIDATED = re.compile(r"\d+ ?threads? have validated (?P<done>\d+) out of (?P<of>\d+) tablespaces so far")
_ALL_VALIDATED = re.compile(r"Scanned \d+ tablespaces\. Validated \d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesSeen:
    """How far a server is with its files at one moment."""

    validates: bool
    """Whether it has recovered, and sees whether all are there."""
    done: int | None
    of: int | None
    """None where its log does not count them."""
    rate: float | None
    """Files a second; None until it can be told."""
    left: float | None
    """Seconds for the rest, at that rate."""


@dataclass(slots=True)
class TablespaceFiles:
    """Takes in lines of a log, and says how far it is with the files, while it looks at them."""

    _validates: bool = False
    _of: int | None = None
    _by_thread: dict[str, int] = field(default_factory=dict)
    _first: tuple[float, int] | None = None
    """When it was first known how many it had looked at, and how many; None while it looks at none."""
    _last: float = 0.0
    """When that was said last."""

    def begin(self, at: float) -> None:
        """It begins to look at its files."""
        self.end()
        self._first = at, 0

    def end(self) -> None:
        """It has looked at all."""
        self._validates, self._of, self._by_thread, self._first = False, None, {}, None

    def hear(self, text: str, at: float) -> None:
        """Take in a line."""
        if (found := _FOUND.match(text)) is not None:
            self.begin(at)
            self._of = int(found["of"])
        elif (checked := _CHECKED.match(text)) is not None and self._first is not None:
            self._by_thread[checked["thread"]] = int(checked["done"])
            self._last = at
        elif (validated := _VALIDATED.match(text)) is not None:
            done = int(validated["done"])
            if not self._validates:
                self.end()
                self._validates, self._first = True, (at, done)
            self._of, self._by_thread, self._last = int(validated["of"]), {"": done}, at
        elif _ALL_VALIDATED.match(text) is not None:
            self.end()

    def seen(self, now: float) -> FilesSeen | None:
        """How far it is; None where it looks at none."""
        if self._first is None:
            return None
        if self._of is None:
            return FilesSeen(validates=False, done=None, of=None, rate=None, left=None)
        since, before = self._first
        done = sum(self._by_thread.values())
        rate = (done - before) / (self._last - since) if self._last > since and done > before else None
        left = None if rate is None else max(0.0, (self._of - done) / rate - (now - self._last))
        return FilesSeen(validates=self._validates, done=done, of=self._of, rate=rate, left=left)
