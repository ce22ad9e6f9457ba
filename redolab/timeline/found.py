"""Starts of servers as they come out of a log, with the timelines of those that recovered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import msgspec

from redolab.timeline.events import Event, Family
from redolab.timeline.moments import LogMoment
from redolab.timeline.numbers import generation
from redolab.timeline.phases import Timeline, datetime_of, seconds_of, time_between
from redolab.timeline.stamps import Clock
from redolab.timeline.start import Start, StartKind


class FoundStart(msgspec.Struct, gc=False):
    """One start of a server, whatever it came to.

    `number`: of the record with which it begins, over the whole log. `source`: as of `Timeline`; `first_line`, `last_line`: of its lines.
    `reached`: whether it came to where it was to come: a server took connections, a backup is prepared.
    `ended`: why no more lines of it follow, in words, with the error where that is why; `shut_down`: whether that was in order;
    `is_replaced`: whether the log has no word of its end, but the next start; `ends_log`: whether its log ends with it.
    `recovery`: its timeline, if the log proves that it recovered; `undecided`: if the log cannot tell.
    """

    number: int
    source: str | None
    kind: StartKind
    first_line: LogMoment | None
    last_line: LogMoment | None
    clock: Clock
    reached: bool
    ended: str
    shut_down: bool
    is_replaced: bool
    ends_log: bool
    recovery: Timeline | None = None
    undecided: UndecidedStart | None = None

    @property
    def began(self) -> datetime | None:
        """When its first line stands, as stamped."""
        return datetime_of(self.first_line, self.clock)

    @property
    def last(self) -> datetime | None:
        """When its last line stands, as stamped."""
        return datetime_of(self.last_line, self.clock)


@dataclass(frozen=True, slots=True)
class UndecidedStart:
    """A start of which the log does not tell whether it recovered: InnoDB's notes are not in it, and nothing else is proof.

    `innodb_seconds`: of InnoDB's own start, recovery included, where the log has its lines; `before`: how the server before it in
    the log ended, None where the log has nothing of it.
    """

    start: datetime | None
    ready: datetime | None
    seconds_to_ready: float | None
    innodb_seconds: float | None
    before: str | None


def undecided(start: Start, before: str | None) -> UndecidedStart | None:
    """What `start` told, if that is too little to know whether it recovered."""
    if Event.READY not in start.marks or not start.hides_notes or not _can_hide_notes(start):
        return None
    clocks = list(start.clocks.in_use())
    began, ready = start.began, start.marks[Event.READY]
    opening, opened = start.marks.get(Event.INNODB_BEGINS), start.marks.get(Event.OPENED)
    clock = next((each for each in clocks if isinstance(time_between(began, ready, each), int)), clocks[0])
    return UndecidedStart(
        start=datetime_of(began, clock),
        ready=datetime_of(ready, clock),
        seconds_to_ready=seconds_of(time_between(began, ready, clock)),
        innodb_seconds=seconds_of(time_between(opening, opened, clock)),
        before=before,
    )


def _can_hide_notes(start: Start) -> bool:
    return start.family is not Family.MARIADB and generation(start.version or "") >= (5, 7)
