"""The starts of a log together: clean ones, crashes of servers that were ready, crash loops, and the last."""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, field

from redolab.errorlog.kinds import End, StartKind
from redolab.errorlog.timeline import FoundStart, UndecidedStart

_A_LOOP = 3
"""Starts in a row that ended badly, from which on they are a loop."""
_MOST_UNDECIDED = 20
_THREAD = re.compile(r"thread (?:0x)?[0-9a-f]{5,}")
"""Thread id in an error, which differs between starts that fail in the same place."""


@dataclass(slots=True, eq=False)
class BadStarts:
    """Starts of one server in a row that all ended with an error, or without a word before they were ready."""

    first: FoundStart
    last: FoundStart
    starts: int = 0
    recoveries: int = 0
    """Starts among them that are known to have recovered."""
    reached: int = 0
    """Starts that were ready before they ended."""
    ended: Counter[str] = field(default_factory=Counter)

    @property
    def is_loop(self) -> bool:
        """True if they are enough for a crash loop."""
        return self.starts >= _A_LOOP

    @property
    def seconds(self) -> float | None:
        """Seconds from the first line of the first to the last line of the last."""
        began, last = self.first.began, self.last.last
        if began is None or last is None or (began.tzinfo is None) != (last.tzinfo is None) or last < began:
            return None
        return (last - began).total_seconds()

    def add(self, start: FoundStart) -> None:
        """Add one more of them."""
        self.last = start
        self.starts += 1
        self.recoveries += start.recovery is not None
        self.reached += start.reached
        self.ended[_THREAD.sub("thread …", start.ended)] += 1


@dataclass(slots=True)
class StartSummary:
    """Sum of starts one after the other; memory grows with the servers in the log and the loops alone."""

    starts: int = 0
    clean: int = 0
    """Starts of which the log says that there was nothing to recover: it has InnoDB's lines, and none of a recovery."""
    crashes: int = 0
    """Servers that were ready and died without a word, as a kill or a power cut has them."""
    undecided: int = 0
    """Starts that may have recovered or not."""
    last_undecided: deque[UndecidedStart] = field(default_factory=lambda: deque(maxlen=_MOST_UNDECIDED))
    loops: list[BadStarts] = field(default_factory=list)
    last: dict[str | None, FoundStart] = field(default_factory=dict)
    """Server → its last start."""
    _rows: dict[str | None, BadStarts] = field(default_factory=dict)
    _open: set[str | None] = field(default_factory=set)
    """Servers that were ready, and whose end is not in the log: the next start shows whether it was a crash."""

    def add(self, start: FoundStart) -> BadStarts | None:
        """Take in the next start; return the row of bad starts that it belongs to."""
        source, is_server = start.source, start.kind is StartKind.SERVER
        self.starts += 1
        if start.undecided is not None:
            self.undecided += 1
            self.last_undecided.append(start.undecided)
        self.clean += is_server and start.reached and start.recovery is None and start.undecided is None
        self.last[source] = start
        if source in self._open:
            self._open.remove(source)
            self.crashes += start.recovery is not None
        is_replaced = start.reached and is_server and start.end in (End.STARTED_AGAIN, End.KILLED_MEANWHILE)
        died = start.reached and start.ended == End.DIED
        if is_replaced:
            self._open.add(source)
        self.crashes += died
        goes_on = start.reached and (start.end == End.LOG_ENDS or not is_server)
        if is_replaced or died or goes_on or start.end == End.SHUT_DOWN:
            self._end_row(source)
            return None
        row = self._rows.setdefault(source, BadStarts(start, start))
        row.add(start)
        return row

    def finish(self) -> None:
        """Take in that no more starts follow."""
        for source in list(self._rows):
            self._end_row(source)

    @property
    def bad(self) -> list[FoundStart]:
        """Last starts that did not reach their goal."""
        return [start for start in self.last.values() if not start.reached]

    def _end_row(self, source: str | None) -> None:
        row = self._rows.pop(source, None)
        if row is not None and row.is_loop:
            self.loops.append(row)
