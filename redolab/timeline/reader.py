"""Lines in, recoveries out: each writer is followed by itself, so that two logs in one file stay apart."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from redolab.lines import Line
from redolab.timeline.events import Event, matters, told
from redolab.timeline.moments import Clocks
from redolab.timeline.phases import Timeline, UndecidedStart, timeline, undecided
from redolab.timeline.recall import Recall, RecordText
from redolab.timeline.stamps import records
from redolab.timeline.start import STAGES, UNDO, Heard, Reached, Start

# Writers followed at the same time; the one longest silent makes room.
_STREAMS = 256

STARTED_AGAIN = "server started again (crash during recovery)"
LOG_ENDS = "log ends here"
_FIRST_POOL = "1"
_SHUT_DOWN = "server was shut down"


def timelines(lines: Iterable[Line]) -> Iterator[Timeline]:
    """The recoveries that the lines tell of, each when it is known to be over.

    Memory does not grow with the log.
    """
    return (start for start in starts(lines) if isinstance(start, Timeline))


def starts(lines: Iterable[Line]) -> Iterator[Timeline | UndecidedStart]:
    """The recoveries that the lines tell of, and the starts that may have been one, each when it is known to be over."""
    streams: OrderedDict[str, _Stream] = OrderedDict()
    recall = Recall()
    stream, name = None, ""
    number = -1
    for line in lines:
        for said in recall.read(line.text):
            number += 1
            if stream is None or said.stream != name:
                name = said.stream
                stream = streams.get(name)
                if stream is None:
                    stream = streams[name] = _Stream(said.group)
                streams.move_to_end(name)
            if over := stream.take(said, number, line.arrival):
                yield over
        while len(streams) > _STREAMS:
            if over := streams.popitem(last=False)[1].finish(LOG_ENDS):
                yield over
    for each in streams.values():
        if over := each.finish(_last_word(each, streams.values())):
            yield over


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
    error: str | None = None
    """The last error that says more than that the server ends."""
    before: str | None = None
    """How the server before the one of `start` ended."""

    def take(self, said: RecordText, number: int, arrival: float | None) -> Timeline | UndecidedStart | None:
        """Take in the next record; a recovery that it shows to be over comes out."""
        moment = self.clocks.moment(number, said.server, said.collector, arrival)
        if self.first is None:
            self.first = number
        self.last = number
        told_now = said.told
        if said.error and not (told_now and told_now.event in _LEAVING) and not said.error.startswith(_CONSEQUENCES):
            self.error = said.error[:_LONGEST_ERROR]
        if told_now is None:
            return None
        event = told_now.event
        if event is Event.INIT and told_now.values.get("pools", _FIRST_POOL) != _FIRST_POOL:
            return None
        if event in _LEAVING:
            self.leaving = self.leaving or _LEAVING[event].format(**told_now.values)
            # After these the next line is another server's.
            return self.finish(self.leaving) if event in _GONE else None
        over = None
        start = self.start
        if start is not None and not start.belongs(event):
            over = self.finish(STARTED_AGAIN)
            start = None
        if start is None and (event in STAGES or event in UNDO or event is Event.PERCENTS):
            start = self.start = Start(self.group, self.clocks)
            if self.leaving and STAGES.get(event) is Reached.STARTING:
                # RecordText of a server whose start is not in the log.
                self.before, self.leaving = self.leaving, None
        if start is not None:
            start.hear(Heard(told_now, moment, said.late_form, said.process_form))
        return over

    def finish(self, ended: str) -> Timeline | UndecidedStart | None:
        """No more lines of the current start follow; its recovery comes out, if it was one or may have been."""
        start, before, ended = self.start, self.before, self.leaving or ended
        error = None if ended in (_SHUT_DOWN, LOG_ENDS) else self.error
        self.start = self.leaving = self.error = None
        self.before = f"{ended}: {error}" if error else ended
        if start is None:
            return None
        return timeline(start, ended, error) if start.proven else undecided(start, before)


_LEAVING = {
    Event.SHUTDOWN: _SHUT_DOWN,
    Event.STOPPED: _SHUT_DOWN,
    Event.SIGNAL: "server crashed (signal {signal})",
    Event.ABORT: "server gave up",
    Event.ENDED_BY_SAFE: "server ended",
    Event.RESTARTED_BY_SAFE: "server died without a word (mysqld_safe started it again)",
    Event.WSREP_RECOVERED: "server was only to say where it stands in its cluster (wsrep_recover)",
}
_GONE = frozenset((Event.STOPPED, Event.ENDED_BY_SAFE, Event.RESTARTED_BY_SAFE))
_LONGEST_ERROR = 200
# What a server says after the error that ends it.
_CONSEQUENCES = (
    "Aborting",
    "Plugin 'InnoDB'",
    "Unknown/unsupported storage engine: InnoDB",
    "Failed to initialize",
    "Data Dictionary initialization failed",
)


def _last_word(stream: _Stream, streams: Iterable[_Stream]) -> str:
    """A process that says no more, and after which another of the same program began, has crashed."""
    later = any(s.group == stream.group and s.first is not None and s.first > stream.last for s in streams)
    return STARTED_AGAIN if later else LOG_ENDS
