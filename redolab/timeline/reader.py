"""Lines in, recoveries out: each writer is followed by itself, so that two logs in one file stay apart."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from redolab.lines import Line
from redolab.timeline.events import Event, Told, matters, told
from redolab.timeline.moments import Clocks, Moment
from redolab.timeline.phases import Timeline, timeline
from redolab.timeline.stamps import Record, records
from redolab.timeline.start import STAGES, UNDO, Heard, Start

# Writers followed at the same time; the one longest silent makes room.
_STREAMS = 256

STARTED_AGAIN = "server started again (crash during recovery)"
LOG_ENDS = "log ends here"


def timelines(lines: Iterable[Line]) -> Iterator[Timeline]:
    """The recoveries that the lines tell of, each when it is known to be over.

    Memory does not grow with the log.
    """
    streams: OrderedDict[str, _Stream] = OrderedDict()
    numbers = count()
    for line in lines:
        if not matters(line.text):
            continue
        for text in line.text.split("\0"):
            for record in records(text):
                stream = streams.get(record.stream)
                if stream is None:
                    stream = streams[record.stream] = _Stream(record.group)
                streams.move_to_end(record.stream)
                yield from stream.take(record, next(numbers), line.arrival)
        while len(streams) > _STREAMS:
            yield from streams.popitem(last=False)[1].finish(LOG_ENDS)
    for stream in streams.values():
        yield from stream.finish(_last_word(stream, streams.values()))


def events(line: Line) -> Iterator[Event]:
    """What a line tells, for whoever watches a log as it grows: usually nothing or one event."""
    for record in records(line.text) if matters(line.text) else ():
        if told_now := told(record.text):
            yield told_now.event


@dataclass(slots=True)
class _Stream:
    """What one writer has told."""

    group: str
    clocks: Clocks = field(default_factory=Clocks)
    start: Start | None = None
    first: int | None = None
    last: int = 0
    leaving: str | None = None

    def take(self, record: Record, number: int, arrival: float | None) -> Iterator[Timeline]:
        """Take in the next record; a recovery that it shows to be over comes out."""
        moment = self.clocks.moment(number, record, arrival)
        self.first = number if self.first is None else self.first
        self.last = number
        told_now = told(record.text)
        if told_now is None:
            return
        if told_now.event in _LEAVING:
            self.leaving = self.leaving or _LEAVING[told_now.event].format(**told_now.values)
            return
        if self.start and not self.start.belongs(told_now.event):
            yield from self.finish(STARTED_AGAIN)
        self._see(told_now, moment, record)

    def finish(self, ended: str) -> Iterator[Timeline]:
        """No more lines of the current start follow."""
        if self.start and self.start.proven:
            yield timeline(self.start, self.leaving or ended)
        self.start = self.leaving = None

    def _see(self, told_now: Told, moment: Moment, record: Record) -> None:
        if self.start is None:
            if told_now.event not in STAGES and told_now.event not in UNDO:
                return
            self.start = Start(self.group)
        self.start.hear(Heard(told_now, moment, record.utc_form and not record.modern))


_LEAVING = {
    Event.SHUTDOWN: "server was shut down",
    Event.SIGNAL: "server crashed (signal {signal})",
    Event.ABORT: "server gave up",
}


def _last_word(stream: _Stream, streams: Iterable[_Stream]) -> str:
    """A process that says no more, and after which another of the same program began, has crashed."""
    later = any(s.group == stream.group and s.first is not None and s.first > stream.last for s in streams)
    return STARTED_AGAIN if later else LOG_ENDS
