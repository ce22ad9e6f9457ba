"""Lines in, recoveries out: each writer is followed by itself, so that two logs in one file stay apart."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from redolab.lines import Line
from redolab.timeline.events import Event, event_in, matters
from redolab.timeline.found import FoundStart, undecided
from redolab.timeline.hearing import STAGES, UNDO, belongs, hear
from redolab.timeline.moments import Clocks, LogMoment
from redolab.timeline.phases import Timeline, timeline
from redolab.timeline.recall import Recall, RecordText
from redolab.timeline.stamps import records
from redolab.timeline.start import Heard, Reached, Start, StartKind

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
    return (start.recovery for start in starts(lines) if start.recovery is not None)


def starts(lines: Iterable[Line]) -> Iterator[FoundStart]:
    """The starts that the lines tell of, each when it is known to be over."""
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
            _, silent = streams.popitem(last=False)
            if over := silent.finish(LOG_ENDS, silent.last):
                yield over
    for each in streams.values():
        if over := each.finish(_last_word(each, streams.values()), each.last):
            yield over


def events(line: Line) -> Iterator[Event]:
    """What a line tells, for whoever watches a log as it grows: usually nothing or one event."""
    for record in records(line.text) if matters(line.text) else ():
        if log_event := event_in(record.text):
            yield log_event.event


@dataclass(slots=True)
class _Stream:
    """What one writer has told."""

    group: str
    clocks: Clocks = field(default_factory=Clocks)
    start: Start | None = None
    first: int | None = None
    latest: int = -1
    """The number of its last record."""
    last: LogMoment | None = None
    """Its last record that told something and when."""
    leaving: str | None = None
    error: str | None = None
    """The last error that says more than that the server ends."""
    before: str | None = None
    """How the server before the one of `start` ended."""

    def take(self, said: RecordText, number: int, arrival: float | None) -> FoundStart | None:
        """Take in the next record; a start that it shows to be over comes out."""
        moment = self.clocks.moment(number, said.server, said.collector, arrival)
        if self.first is None:
            self.first = number
        self.latest = number
        log_event = said.event
        if said.error and not (log_event and log_event.event in _LEAVING) and not said.error.startswith(_CONSEQUENCES):
            self.error = said.error[:_LONGEST_ERROR]
        if log_event is None:
            return None
        event = log_event.event
        if "pools" in log_event.values and log_event.values["pools"] not in (None, _FIRST_POOL):
            return None
        before = self.last
        if moment.server is not None or moment.arrival is not None or moment.collector is not None:
            self.last = moment
        if event in _OUTSIDE:
            if event not in _LEAVING:
                # Only now is it known that the server before is gone: it may be followed by few lines of its own.
                return self.finish(STARTED_AGAIN, before) if self.start is not None else None
            self.leaving = self.leaving or _LEAVING[event].format(**log_event.values)
            # After these the next line is another server's.
            return self.finish(self.leaving, moment) if event in _GONE else None
        over = None
        start = self.start
        if start is not None and not belongs(start, event):
            over = self.finish(STARTED_AGAIN, before)
            start = None
        if start is None and (event in STAGES or event in UNDO or event is Event.PERCENTS):
            start = self.start = Start(self.group, self.clocks)
            if self.leaving and STAGES.get(event) is Reached.STARTING:
                # RecordText of a server whose start is not in the log.
                self.before, self.leaving = self.leaving, None
        if start is not None:
            hear(start, Heard(log_event, moment, said.late_form, said.process_form))
        return over

    def finish(self, ended: str, last: LogMoment | None) -> FoundStart | None:
        """No lines of the current start follow after `last`: it comes out, if there was one."""
        start, before, ended = self.start, self.before, self.leaving or ended
        in_order, is_replaced = ended == _SHUT_DOWN, ended == STARTED_AGAIN
        if start is not None and start.kind is StartKind.BACKUP:
            ended = "InnoDB was shut down" if in_order else ended.replace("server", "prepare", 1)
        error = None if in_order or ended == LOG_ENDS else self.error
        self.start = self.leaving = self.error = None
        in_words = f"{ended}: {error}" if error else ended
        self.before = in_words
        if start is None:
            return None
        recovery = timeline(start, ended, last, error) if start.proven else None
        return FoundStart(
            source=start.source or None,
            kind=start.kind,
            first_line=start.began or start.discovered,
            last_line=last,
            clock=next(start.clocks.in_use()),
            reached=Event.READY in start.marks if start.kind is StartKind.SERVER else start.outcome is not None,
            ended=in_words if start.outcome is None else start.outcome,
            shut_down=in_order,
            is_replaced=is_replaced,
            ends_log=ended == LOG_ENDS,
            recovery=recovery,
            undecided=undecided(start, before) if recovery is None else None,
        )


_LEAVING = {
    Event.SHUTDOWN: _SHUT_DOWN,
    Event.STOPPED: _SHUT_DOWN,
    Event.SIGNAL: "server crashed (signal {signal})",
    Event.ABORT: "server gave up",
    Event.ENDED_BY_SAFE: "server ended",
    Event.RESTARTED_BY_SAFE: "server died without a word (mysqld_safe started it again)",
}
_OUTSIDE = frozenset((Event.STARTED_BY_SAFE, *_LEAVING))
"""Of none of the lines of a start."""
_GONE = frozenset((Event.STOPPED, Event.ENDED_BY_SAFE, Event.RESTARTED_BY_SAFE))
_LONGEST_ERROR = 200
# What a server says after the error that ends it.
_CONSEQUENCES = (
    "Aborting",
    "Plugin 'InnoDB'",
    "Unknown/unsupported storage engine: InnoDB",
    "Failed to initialize",
    "Data Dictionary initialization failed",
    "innodb_init(): Error occurred",
)


def _last_word(stream: _Stream, streams: Iterable[_Stream]) -> str:
    """A process that says no more, and after which another of the same program began, has crashed."""
    later = any(s.group == stream.group and s.first is not None and s.first > stream.latest for s in streams)
    return STARTED_AGAIN if later else LOG_ENDS
