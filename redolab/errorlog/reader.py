"""Lines in, starts out: each writer is followed by itself, so that two logs in one file stay apart."""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from redolab.errorlog.clocks import Clocks, LogMoment, between
from redolab.errorlog.kinds import End, Event, StartKind, StartStage
from redolab.errorlog.line_table import matters, meaning_of
from redolab.errorlog.phases import datetime_of, timeline, undecided
from redolab.errorlog.stamps import MICROSECONDS, Clock, Record, records
from redolab.errorlog.start import Complaints, Meaning, Proof, Start, StartLine
from redolab.errorlog.timeline import FoundStart, Timeline
from redolab.lines import Line

# Writers followed at the same time; the one longest silent makes room.
_STREAMS = 256

_AFTER_SHUTTING_DOWN = {Event.ENDED_BY_SAFE: End.SHUT_DOWN, Event.RESTARTED_BY_SAFE: End.KILLED_MEANWHILE}
_NUMBER = attrgetter("number")
_INNODB_SHUT_DOWN = "InnoDB was shut down"
BACKUP_END_LOST = "the end of the prepare is not in the log"
_LONGEST_ERROR = 200
_AT_ONCE = 10 * MICROSECONDS
_ADDRESS = re.compile(r"socket: '[^']*'\s+port: \d+")
# Lines that a server writes after the error that ends it.
_CONSEQUENCES = (
    "Aborting",
    "Plugin 'InnoDB'",
    "Unknown/unsupported storage engine: InnoDB",
    "Failed to initialize",
    "Data Dictionary initialization failed",
    "innodb_init(): Error occurred",
)


def timelines(lines: Iterable[Line]) -> Iterator[Timeline]:
    """Yield the recoveries in the lines, each when it is known to be over.

    Memory does not grow with the log.
    """
    return (start.recovery for start in starts(lines) if start.recovery is not None)


def starts(lines: Iterable[Line]) -> Iterator[FoundStart]:
    """Yield the starts in the lines, each when it is over, those of one server in their order."""
    writers: OrderedDict[str, Writer] = OrderedDict()
    finished = _FinishedStarts()
    writer, name = None, ""
    number = -1
    for line in _that_matter(lines):
        for record in records(line.text):
            number += 1
            if writer is None or record.stream != name:
                name = record.stream
                writer = writers.get(name)
                if writer is None:
                    writer = writers[name] = Writer(record.group, first=number)
                writers.move_to_end(name)
            if over := writer.take(record, number, line.arrival):
                yield from finished.after(over, writers.values())
        while len(writers) > _STREAMS:
            _, silent = writers.popitem(last=False)
            if over := silent.finish(_last_word(silent, writers.values()), silent.last):
                yield from finished.after(over, writers.values())
    ends = [(each, _last_word(each, writers.values())) for each in writers.values()]
    yield from finished.rest([over for each, ended in ends if (over := each.finish(ended, each.last))])


def events(line: Line) -> Iterator[Event]:
    """Yield the events of a line of a growing log: usually none or one."""
    if matters(line.text):
        for record in records(line.text):
            if meaning := meaning_of(record.text):
                yield meaning.row.event


def _that_matter(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines that may have a meaning, and the last one: its stamp shows how long a start took at least."""
    last = None
    for line in lines:
        if matters(line.text):
            yield line
            last = None
        elif line.text and not line.text.isspace():
            last = line
    if last is not None:
        yield last


@dataclass(slots=True)
class _FinishedStarts:
    """Starts that are over, while an earlier one of the server may not be: a killed process says nothing."""

    starts: dict[str | None, list[FoundStart]] = field(default_factory=dict)

    def after(self, over: FoundStart, writers: Iterable[Writer]) -> Iterator[FoundStart]:
        """Yield those that can come out now that `over` is over too."""
        finished = self.starts.setdefault(over.source, [])
        finished.append(over)
        finished.sort(key=_NUMBER)
        group = over.source or ""
        earliest = min((w.began for w in writers if w.start is not None and w.group == group), default=math.inf)
        while finished and (finished[0].number < earliest or len(finished) > _STREAMS):
            yield finished.pop(0)

    def rest(self, last: Sequence[FoundStart]) -> Iterator[FoundStart]:
        """Yield all others, with these."""
        yield from sorted([*(each for finished in self.starts.values() for each in finished), *last], key=_NUMBER)


@dataclass(slots=True)
class Writer:
    """A writer of a log, whose starts follow each other; `follow` has a single one."""

    group: str = ""
    clocks: Clocks = field(default_factory=Clocks)
    start: Start | None = None
    began: int = 0
    """Number of the record with which `start` begins."""
    address: str | None = None
    """Address on which the server takes connections, once it has said so."""
    first: int = 0
    """Number of its first record."""
    latest: int = -1
    """Number of its last record."""
    last: LogMoment | None = None
    """Last record with a stamp, written by a server that had not ended."""
    leaving: str | None = None
    """Reason for the end of the server of `start`, in words; None while it has not said any."""
    over: str | None = None
    """End of the last server, in words; None once another has been announced, or has begun."""
    since: float | None = None
    """Arrival of the current server's first line, in seconds; None where it is not known."""
    error: str | None = None
    """Last error that says more than that the server ends; once it is ready, only right before a crash."""
    complaints: Complaints | None = None
    before: str | None = None
    """End of the server before the one of `start`, in words."""
    is_backup: bool = False
    """A backup program writes."""
    _error_moment: LogMoment | None = None
    _had_known_line: bool = False
    """True if the log already contains something of a start, or of an end."""

    def take(self, record: Record, number: int, arrival: float | None) -> FoundStart | None:
        """Take in the next record; a start that it shows to be over comes out."""
        moment = self.clocks.moment(number, record.server, record.collector, arrival)
        self.latest = number
        meaning = meaning_of(record.text)
        if record.error or (meaning is not None and meaning.row.is_quoted):
            self._hear_error(record, meaning, moment)
        if record.backup and not self.is_backup:
            self._hear_backup()
        before = self.last
        is_stamped = moment.server is not None or moment.arrival is not None or moment.collector is not None
        # Of lines that are not known, those of the server around InnoDB can be the first of another one.
        if is_stamped and (meaning is not None or (self.leaving is None and (record.innodb or record.error))):
            self.last = moment
        if meaning is None:
            if self.start is not None and arrival is not None:
                self.start.redo.percents(record.text, arrival)
            return None
        is_first, self._had_known_line = not self._had_known_line, True
        line = StartLine(meaning, record, moment, arrival or 0.0)
        self._hear_complaint(line)
        return self._hear(line, before, is_first) if meaning.row.ends is None else self._hear_end(line, before)

    def _hear(self, line: StartLine, before: LogMoment | None, is_first: bool) -> FoundStart | None:
        """Take in a line of the current start, or of another one."""
        over, meaning = None, line.meaning
        if self.start is not None and not self._goes_on(self.start, meaning):
            over = self.finish(End.STARTED_AGAIN, before)
        if self.start is None and meaning.row.begins:
            self._begin(line, is_first)
        if self.start is not None:
            self.start.hear(line)
        if meaning.row.event is Event.READY:
            # An error that did not keep the server from being ready is not the reason for its end.
            self.error = None
        if (vendor := meaning.value("vendor")) is not None and (found := _ADDRESS.search(vendor)) is not None:
            self.address = found[0]
        return over

    def _hear_backup(self) -> None:
        """Take in that a backup program writes: the current start is its own, unless a server announced it."""
        self.is_backup = True
        if self.start is not None and not self.start.marks.keys() & {Event.PROCESS_START, Event.START, Event.READY}:
            self.start.kind = StartKind.BACKUP

    def _hear_complaint(self, line: StartLine) -> None:
        if line.meaning.row.event is not Event.NO_FREE_BLOCK:
            self.complaints = None
            return
        self.complaints = self.complaints or Complaints(line, line)
        self.complaints.last = line
        self.complaints.times += 1

    def _hear_error(self, record: Record, meaning: Meaning | None, moment: LogMoment) -> None:
        says_more = meaning is None or meaning.row.ends is None or meaning.row.is_quoted
        if says_more and not record.text.startswith(_CONSEQUENCES):
            self.error, self._error_moment = record.text[:_LONGEST_ERROR], moment

    def _goes_on(self, start: Start, meaning: Meaning) -> bool:
        """Return True if a line belongs to the current start."""
        stage, proof = meaning.row.stage, meaning.row.proof
        if self.leaving is not None and stage is not None:
            # After a server's last words another one begins; one that shuts down has more to say.
            latest = StartStage.STARTING if self.leaving == End.SHUTTING_DOWN else StartStage.OPENED
            if stage <= latest:
                return False
        # Of another start, a log that has InnoDB's notes would have some before it.
        return (proof is Proof.WITHOUT_NOTES and start.notes) or start.belongs(meaning)

    def _begin(self, line: StartLine, is_first: bool) -> None:
        row = line.meaning.row
        self.is_backup = self.is_backup and not row.is_first
        kind = StartKind.BACKUP if self.is_backup else StartKind.SERVER
        head_lost = is_first and row.stage is not StartStage.STARTING
        self.start = Start(self.group, self.clocks, head_lost, kind)
        self.began, self.over = line.moment.number, None
        self.since = line.at if self.since is None else self.since
        if self.leaving and row.stage is not None:
            # Lines of a server whose start is not in the log.
            self.before, self.leaving = str(self.leaving), None

    def _hear_end(self, line: StartLine, before: LogMoment | None) -> FoundStart | None:
        row = line.meaning.row
        if row.ends == End.STARTED_AGAIN:
            # Only this line shows that the server before is gone.
            over = self.finish(End.STARTED_AGAIN, before) if self.start is not None else None
        else:
            leaving = self._leave(line.meaning, line.moment)
            # After these the next line is another server's.
            over = self.finish(leaving, line.moment) if row.is_last else None
        if row.event in (Event.STARTED_BY_SAFE, Event.RESTARTED_BY_SAFE):
            self.over, self.since = None, line.at
        return over

    def _leave(self, meaning: Meaning, moment: LogMoment) -> str:
        """Return why the server ends: the first reason, unless a shutdown or an assertion ends otherwise."""
        row, event = meaning.row, meaning.row.event
        reason = (row.ends or "").format(**meaning.values)
        if event is Event.SHUTDOWN and not meaning.values.get("done"):
            reason = End.SHUTTING_DOWN
        if self.leaving == End.SHUTTING_DOWN:
            reason = _AFTER_SHUTTING_DOWN.get(event, reason)
        elif self.leaving is not None and not (self.leaving in (End.SHUT_DOWN, End.CRASHED) and event is Event.SIGNAL):
            return self.leaving
        self.leaving = reason
        if self._error_moment is not None and (self.start is None or Event.READY in self.start.marks):
            apart = [each for clock in Clock if isinstance(each := between(self._error_moment, moment, clock), int)]
            if apart and apart[0] > _AT_ONCE:
                self.error = None
        return reason

    @property
    def ended(self) -> str | None:
        """End of the current server, in words; None while it runs."""
        if self.leaving is None:
            return self.over
        return f"{self.leaving}: {self.error}" if self.error else str(self.leaving)

    def finish(self, ended: str, last: LogMoment | None) -> FoundStart | None:
        """End the current start: no lines of it follow after `last`. Return it, if there was one."""
        start, before = self.start, self.before
        if self.leaving == End.SHUTTING_DOWN:
            self.leaving = End.KILLED_MEANWHILE if ended == End.STARTED_AGAIN else End.SHUT_DOWN
        if self.leaving is None and start is not None and Event.READY in start.marks:
            self.error = None
        end = reason = str(self.leaving or ended)
        error, complaints = None if end == End.SHUT_DOWN else self.error, self.complaints
        if start is not None and start.kind is StartKind.BACKUP:
            of_backups: dict[str, str] = {End.LOG_ENDS: BACKUP_END_LOST, End.SHUT_DOWN: _INNODB_SHUT_DOWN}
            reason = of_backups.get(end) or end.replace("server", "prepare", 1)
        in_words = f"{reason}: {error}" if error else reason
        if ended == End.LOG_ENDS and reason == _INNODB_SHUT_DOWN:
            in_words = f"{reason}, and {BACKUP_END_LOST}"
        self.start = self.leaving = self.error = self.complaints = self.since = None
        self.before = self.over = in_words
        if start is None:
            return None
        recovery = timeline(start, reason, last, error, complaints) if start.proven else None
        return FoundStart(
            number=self.began,
            source=start.source or None,
            kind=start.kind,
            began=datetime_of(start.began or start.discovered, Clock.SERVER),
            last=datetime_of(last, Clock.SERVER),
            reached=Event.READY in start.marks if start.kind is StartKind.SERVER else start.outcome is not None,
            end=end,
            ended=in_words if start.outcome is None else start.outcome,
            recovery=recovery,
            undecided=undecided(start, before) if recovery is None else None,
        )


def _last_word(writer: Writer, writers: Iterable[Writer]) -> str:
    """Return how a process ended that says no more: it crashed if another of the same program began after it.

    Unless that one takes connections elsewhere: it is another server on the same machine.
    """
    later = any(
        w.group == writer.group
        and w.first > writer.latest
        and (writer.address is None or w.address is None or writer.address == w.address)
        for w in writers
    )
    return End.STARTED_AGAIN if later else End.LOG_ENDS
