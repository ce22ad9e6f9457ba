"""Moments of a log and the time between them, on clocks that are never mixed.

A difference is an exact number of microseconds, or the reason in words why there is none. It is never
negative: a clock that was set back (daylight saving, ntpd) leaves a reason.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from redolab.errorlog.stamps import MICROSECONDS, Clock, Stamp

# Threads stamp their lines before they take turns at writing them: up to this, disorder is no clock set back.
_DISORDER_US = 2 * MICROSECONDS
_ARRIVAL_STEP = 1000
_DAY = 24 * 3600 * MICROSECONDS
# Lines without a stamp that wait for the next stamped one.
_WAITING = 64

NO_STAMP = "a line where it begins or ends has no stamp"
SET_BACK = "the clock was set back meanwhile"
DISORDER = "the stamps are out of order"
MIXED = "one stamp has an offset from UTC and the other has none"


class Tick(msgspec.Struct, frozen=True, gc=False):
    """A stamp, and how many times its clock had been set back before it."""

    stamp: Stamp
    era: int


class LogMoment(msgspec.Struct, gc=False):
    """Place of a record in the log, `number`, and the time by each clock.

    A msgspec structure, like all other objects made for each line: making one is several times as fast as a data
    class.
    """

    number: int
    arrival: Tick | None
    server: Tick | None
    collector: Tick | None

    def tick(self, clock: Clock) -> Tick | None:
        """Return the stamp of one clock."""
        if clock is Clock.SERVER:
            return self.server
        return self.arrival if clock is Clock.ARRIVAL else self.collector


@dataclass(slots=True)
class Clocks:
    """Makes the moments of one stream of records."""

    arrival: Tick | None = None
    server: Tick | None = None
    collector: Tick | None = None
    latest: dict[tuple[Clock, tuple[bool, bool, bool]], Stamp] = field(default_factory=dict)
    """Last stamp of each clock and form: only stamps of one form can be compared."""
    waiting: deque[LogMoment] = field(default_factory=lambda: deque(maxlen=_WAITING))

    def in_use(self) -> Iterator[Clock]:
        """Yield the server's clock, and the others where they said anything; a better one first."""
        yield Clock.SERVER
        if self.arrival:
            yield Clock.ARRIVAL
        if self.collector:
            yield Clock.COLLECTOR

    def moment(self, number: int, server: Stamp | None, collector: Stamp | None, arrival: float | None) -> LogMoment:
        """Return the moment of the next record of the stream, from its stamps and the time when it was seen.

        A line without a server's stamp gets one later when the stamped lines before and after it say the
        same.
        """
        seen = collected = None
        if arrival is not None:
            stamp = Stamp(round(arrival * MICROSECONDS), None, _ARRIVAL_STEP, False)
            seen = self.arrival = self._next(Clock.ARRIVAL, self.arrival, stamp)
        if collector is not None:
            collected = self.collector = self._next(Clock.COLLECTOR, self.collector, collector)
        if server is None:
            moment = LogMoment(number, seen, None, collected)
            self.waiting.append(moment)
            return moment
        before = self.server
        after = self.server = self._next(Clock.SERVER, before, server)
        if self.waiting:
            if before == after:
                for unstamped in self.waiting:
                    unstamped.server = after
            self.waiting.clear()
        return LogMoment(number, seen, after, collected)

    def _next(self, clock: Clock, last: Tick | None, stamp: Stamp) -> Tick:
        """Return the tick of a clock after its last one."""
        # Many lines have the stamp of the line before.
        if last is not None and last.stamp is stamp:
            return last
        before = self.latest.get((clock, stamp.form))
        if stamp.of_day and before is not None:
            stamp = _on_its_day(stamp, before)
        self.latest[clock, stamp.form] = stamp
        set_back = before is not None and stamp.us < before.us - _DISORDER_US
        return Tick(stamp, set_back if last is None else last.era + set_back)


def _on_its_day(stamp: Stamp, before: Stamp) -> Stamp:
    """Return a time of day on its day: one more than half a day earlier than the one before is of the next."""
    us = before.us - before.us % _DAY + stamp.us
    return msgspec.structs.replace(stamp, us=us + _DAY if us < before.us - _DAY // 2 else us)


def between(begin: LogMoment, end: LogMoment, clock: Clock) -> int | str:
    """Return the microseconds from `begin` to `end` on `clock`, or the reason why there are none."""
    a, b = begin.tick(clock), end.tick(clock)
    if a is None or b is None:
        return NO_STAMP
    if a.stamp.form != b.stamp.form:
        return MIXED
    if a.era != b.era:
        return SET_BACK
    return DISORDER if b.stamp.us < a.stamp.us else b.stamp.us - a.stamp.us


@dataclass(slots=True)
class Total:
    """A sum of times on every clock: a number only while every part is one."""

    parts: dict[Clock, int | str] = field(default_factory=lambda: dict.fromkeys(Clock, 0))

    def add(self, begin: LogMoment, end: LogMoment) -> None:
        """Add the time from `begin` to `end`."""
        for clock, so_far in self.parts.items():
            # The first reason stays.
            if isinstance(so_far, int):
                part = between(begin, end, clock)
                self.parts[clock] = so_far + part if isinstance(part, int) else part

    def fail(self, reason: str) -> None:
        """Record that a part is unknown on every clock. The first reason stays."""
        self.parts = {clock: each if isinstance(each, str) else reason for clock, each in self.parts.items()}
