"""The starts of a log together: clean ones, crashes of servers that were ready, crash loops, and the last."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from redolab.errorlog.kinds import DIED, StartKind
from redolab.errorlog.timeline import FoundStart

_A_LOOP = 3
"""Starts in a row that ended badly, from which on they are a loop."""
_THREAD = re.compile(r"thread (?:0x)?[0-9a-f]{5,}")
"""Thread id in an error, which differs between starts that fail in the same place."""


class HowOften(msgspec.Struct, frozen=True):
    """Number of starts that ended so."""

    count: int
    ended: str


class CrashLoop(msgspec.Struct, frozen=True, kw_only=True):
    """Starts in a row that all ended with an error, or without a word before they were ready.

    `source`: as of a timeline; `starts`: how many, `recoveries` of them are known to have recovered, `reached`: were
    ready before they ended; `first`, `last`: when the first of them began and the last line of the last stands;
    `seconds` between; `ended`: the most frequent first.
    """

    source: str | None
    starts: int
    recoveries: int
    reached: int
    first: datetime | None
    last: datetime | None
    seconds: float | None
    ended: tuple[HowOften, ...]


@dataclass(slots=True)
class _Row:
    """Starts of one server in a row that ended badly."""

    numbers: list[int] = field(default_factory=list)
    """Numbers of the first and the last of them, counted over the whole log."""
    starts: int = 0
    recoveries: int = 0
    reached: int = 0
    first: FoundStart | None = None
    last: FoundStart | None = None
    ended: Counter[str] = field(default_factory=Counter)

    def add(self, start: FoundStart, number: int, ended: str) -> None:
        """Add one more of them."""
        self.numbers = [*self.numbers[:1], number]
        self.first = self.first or start
        self.last = start
        self.starts += 1
        self.recoveries += start.recovery is not None
        self.reached += start.reached
        self.ended[_THREAD.sub("thread …", ended)] += 1

    def loop(self, source: str | None) -> CrashLoop:
        """Return the loop that they are."""
        first = None if self.first is None else self.first.began
        last, apart = None if self.last is None else self.last.last, None
        if first and last and (first.tzinfo is None) == (last.tzinfo is None):
            apart = (last - first).total_seconds()
        return CrashLoop(
            source=source,
            starts=self.starts,
            recoveries=self.recoveries,
            reached=self.reached,
            first=first,
            last=last,
            seconds=None if apart is None or apart < 0 else apart,
            ended=tuple(HowOften(count, ended) for ended, count in self.ended.most_common()),
        )


@dataclass(slots=True)
class StartSummary:
    """Sum of starts one after the other; memory grows with the servers in the log and the loops alone."""

    starts: int = 0
    clean: int = 0
    """Starts of which the log says that there was nothing to recover: it has InnoDB's lines, and none of a recovery."""
    crashes: int = 0
    """Servers that were ready and died without a word, as a kill or a power cut has them."""
    loops: list[CrashLoop] = field(default_factory=list)
    within: list[tuple[str | None, int, int]] = field(default_factory=list)
    """Server of each loop, and the numbers of its first start and its last."""
    last: dict[str | None, FoundStart] = field(default_factory=dict)
    """Server → its last start."""
    _rows: dict[str | None, _Row] = field(default_factory=dict)
    _open: set[str | None] = field(default_factory=set)
    """Servers that were ready, and of whose end there is no word: the next start tells whether it was in order."""

    def add(self, start: FoundStart) -> int:
        """Take in the next start; return its number."""
        source, number = start.source, self.starts
        self.starts += 1
        is_server = start.kind is StartKind.SERVER
        self.clean += is_server and start.reached and start.recovery is None and start.undecided is None
        self.last[source] = start
        if source in self._open:
            self._open.remove(source)
            self.crashes += start.recovery is not None
        if start.reached and start.is_replaced and is_server:
            self._open.add(source)
            self._end_row(source)
        elif start.reached and start.ended == DIED:
            self.crashes += 1
            self._end_row(source)
        elif start.shut_down or (start.reached and (start.ends_log or not is_server)):
            self._end_row(source)
        else:
            self._rows.setdefault(source, _Row()).add(start, number, start.ended)
        return number

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
        if row is not None and row.starts >= _A_LOOP:
            self.loops.append(row.loop(source))
            self.within.append((source, row.numbers[0], row.numbers[-1]))
