"""Lines in, recoveries out: each writer is followed by itself, so that two logs in one file stay apart."""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from redolab.lines import Line
from redolab.timeline.events import Event, LogEvent, event_in, matters
from redolab.timeline.found import FoundStart, undecided
from redolab.timeline.hearing import STAGES, UNDO, belongs, hear
from redolab.timeline.moments import Clocks, LogMoment, between
from redolab.timeline.phases import Timeline, timeline
from redolab.timeline.stamps import MICROSECONDS, Clock, Record, records
from redolab.timeline.start import Heard, Reached, Start, StartKind

# Writers followed at the same time; the one longest silent makes room.
_STREAMS = 256

STARTED_AGAIN = "server started again (crash during recovery)"
LOG_ENDS = "log ends here"
_FIRST_POOL = "1"
_SHUT_DOWN = "server was shut down"
_SHUTTING_DOWN = "server began to shut down"
KILLED_MEANWHILE = "server was killed while it shut down"


def timelines(lines: Iterable[Line]) -> Iterator[Timeline]:
    """The recoveries that the lines tell of, each when it is known to be over.

    Memory does not grow with the log.
    """
    return (start.recovery for start in starts(lines) if start.recovery is not None)


def starts(lines: Iterable[Line]) -> Iterator[FoundStart]:
    """The starts that the lines tell of, each when it is known to be over, those of one server in the order in which they began."""
    streams: OrderedDict[str, _Stream] = OrderedDict()
    held = _Held()
    stream, name = None, ""
    number = -1
    for line in lines:
        for record in _records(line):
            number += 1
            if stream is None or record.stream != name:
                name = record.stream
                stream = streams.get(name)
                if stream is None:
                    stream = streams[name] = _Stream(record.group)
                streams.move_to_end(name)
            if over := stream.take(record, number, line.arrival):
                yield from held.after(over, streams.values())
        while len(streams) > _STREAMS:
            _, silent = streams.popitem(last=False)
            if over := silent.finish(_last_word(silent, streams.values()), silent.last):
                yield from held.after(over, streams.values())
    ends = [(each, _last_word(each, streams.values())) for each in streams.values()]
    yield from held.rest([over for each, ended in ends if (over := each.finish(ended, each.last))])


def events(line: Line) -> Iterator[Event]:
    """What a line tells, for whoever watches a log as it grows: usually nothing or one event."""
    for record in _records(line):
        if log_event := event_in(record.text):
            yield log_event.event


def _records(line: Line) -> Iterator[Record]:
    """Return the records of a line that may matter; a NUL separates lines where a log was truncated while it was written."""
    if matters(line.text):
        for part in line.text.split("\0"):
            yield from records(part)


@dataclass(slots=True)
class _Held:
    """Starts that are over, while one of the same server that began before them may not be: a killed process says nothing."""

    starts: dict[str | None, list[FoundStart]] = field(default_factory=dict)

    def after(self, over: FoundStart, streams: Iterable[_Stream]) -> Iterator[FoundStart]:
        """Those that can come out now that `over` is over too."""
        held = self.starts.setdefault(over.source, [])
        held.append(over)
        held.sort(key=_number)
        group = over.source or ""
        earliest = min((s.began for s in streams if s.start is not None and s.group == group), default=math.inf)
        while held and (held[0].number < earliest or len(held) > _STREAMS):
            yield held.pop(0)

    def rest(self, last: Sequence[FoundStart]) -> Iterator[FoundStart]:
        """All others, with these."""
        yield from sorted([*(each for held in self.starts.values() for each in held), *last], key=_number)


def _number(start: FoundStart) -> int:
    return start.number


@dataclass(slots=True)
class _Stream:
    """What one writer has told."""

    group: str
    clocks: Clocks = field(default_factory=Clocks)
    start: Start | None = None
    began: int = 0
    """The number of the record with which `start` begins."""
    address: str | None = None
    """Where the server takes connections, once it has said so."""
    first: int | None = None
    latest: int = -1
    """The number of its last record."""
    last: LogMoment | None = None
    """Its last record that told something and when."""
    leaving: str | None = None
    error: str | None = None
    """The last error that says more than that the server ends; once it is ready, only of a crash that follows at once."""
    error_moment: LogMoment | None = None
    before: str | None = None
    """How the server before the one of `start` ended."""

    def take(self, record: Record, number: int, arrival: float | None) -> FoundStart | None:
        """Take in the next record; a start that it shows to be over comes out."""
        moment = self.clocks.moment(number, record.server, record.collector, arrival)
        if self.first is None:
            self.first = number
        self.latest = number
        log_event = event_in(record.text)
        if (
            record.error
            and not (log_event and log_event.event in _LEAVING)
            and not record.text.startswith(_CONSEQUENCES)
        ):
            self.error, self.error_moment = record.text[:_LONGEST_ERROR], moment
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
            leaving = self._leave(event, log_event.values, moment)
            # After these the next line is another server's.
            return self.finish(leaving, moment) if event in _GONE else None
        over = None
        start = self.start
        if start is not None and not belongs(start, event):
            over = self.finish(STARTED_AGAIN, before)
            start = None
        if start is None and (event in STAGES or event in UNDO or event is Event.PERCENTS):
            start = self.start = Start(self.group, self.clocks)
            self.began = number
            if self.leaving and STAGES.get(event) is Reached.STARTING:
                # Lines of a server whose start is not in the log.
                self.before, self.leaving = self.leaving, None
        if start is not None:
            late_form = record.utc_form and not record.modern
            hear(start, Heard(log_event, moment, late_form, record.process_form))
        self._take_connections(log_event)
        return over

    def _take_connections(self, log_event: LogEvent) -> None:
        if log_event.event is Event.READY:
            # What did not keep it from being ready is not why it ends.
            self.error = None
        if (found := _ADDRESS.search(log_event.values.get("vendor") or "")) is not None:
            self.address = found[0]

    def _leave(self, event: Event, values: Mapping[str, str | None], moment: LogMoment) -> str:
        """The server says that it ends: the first reason counts, but for a shutdown that comes to another end."""
        begins = event is Event.SHUTDOWN and not values.get("done")
        reason = _SHUTTING_DOWN if begins else _LEAVING[event].format(**values)
        if self.leaving == _SHUTTING_DOWN:
            reason = {Event.ENDED_BY_SAFE: _SHUT_DOWN, Event.RESTARTED_BY_SAFE: KILLED_MEANWHILE}.get(event, reason)
        elif self.leaving is not None and not (self.leaving == _SHUT_DOWN and event is Event.SIGNAL):
            return self.leaving
        self.leaving = reason
        if self.error_moment is not None and (self.start is None or Event.READY in self.start.marks):
            apart = [each for clock in Clock if isinstance(each := between(self.error_moment, moment, clock), int)]
            if apart and apart[0] > _AT_ONCE:
                self.error = None
        return reason

    def finish(self, ended: str, last: LogMoment | None) -> FoundStart | None:
        """No lines of the current start follow after `last`: it comes out, if there was one."""
        start, before = self.start, self.before
        if self.leaving == _SHUTTING_DOWN:
            self.leaving = KILLED_MEANWHILE if ended == STARTED_AGAIN else _SHUT_DOWN
        if self.leaving is None and start is not None and Event.READY in start.marks:
            self.error = None
        ended = self.leaving or ended
        in_order, is_replaced = ended == _SHUT_DOWN, ended in (STARTED_AGAIN, KILLED_MEANWHILE)
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
            number=self.began,
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
_AT_ONCE = 10 * MICROSECONDS
_ADDRESS = re.compile(r"socket: '[^']*'\s+port: \d+")
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
    """A process that says no more, and after which another of the same program began, has crashed.

    Unless that one takes connections elsewhere: it is another server on the same machine.
    """
    later = any(
        s.group == stream.group
        and s.first is not None
        and s.first > stream.latest
        and (stream.address is None or s.address is None or stream.address == s.address)
        for s in streams
    )
    return STARTED_AGAIN if later else LOG_ENDS
