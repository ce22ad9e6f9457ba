"""A start made into a timeline: phases and their parts, totals and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from redolab.errorlog.clocks import DISORDER, MIXED, SET_BACK, LogMoment, between
from redolab.errorlog.kinds import Event, Family, Phase, Stage, StartKind
from redolab.errorlog.recovery import Complaints, Recovery
from redolab.errorlog.redo import LOG_BEGINS_LATER, MIXED_TURNS
from redolab.errorlog.stamps import MICROSECONDS, Clock
from redolab.errorlog.timeline import ClockName, PhasePart, PhaseTime, Timeline, UndecidedStart

NO_NOTES = "InnoDB's notes are not in the log"
NO_LINES = "no line of InnoDB's start is in the log"
TABLESPACES = "tablespaces"
DOUBLEWRITE = "doublewrite"
REDO = "redo"
UNDO_RESURRECTION = "undo resurrection"
BINARY_LOG = "binary log and XA recovery"
_MARKED = ("10.2.", "10.3.", "10.4.")
_ROUNDING = 1e-6
_PIECE = 64 * 1024
"""Bytes of redo that MySQL reads at a time in the scan (RECV_SCAN_SIZE)."""
_CLOCK_NAMES: dict[Clock, ClockName] = {
    Clock.ARRIVAL: "arrival",
    Clock.SERVER: "log",
    Clock.COLLECTOR: "collector",
}


def timeline(
    start: Recovery, ended: str, last: LogMoment | None, error: str | None, complaints: Complaints | None
) -> Timeline:
    """Return the timeline of a recovery.

    `ended`: the reason why no more lines of it follow after `last`; `error`: the last that it gave, where that is why;
    `complaints`: those that it told last.
    """
    start.turns.settle()
    measure, times = _measured(start, ended)
    clock = measure.clock
    origin = start.began or start.discovered
    ready, undone = start.marks.get(Event.READY), start.marks.get(Event.UNDO_END)
    end = max((moment for moment in (ready, undone) if moment), key=lambda moment: moment.number, default=None)
    # A clock that goes wrong within a recovery leaves its total as little worth as the phase.
    unsound = [time for time in times if time.why in (SET_BACK, DISORDER, MIXED)]
    to_ready = seconds_of(time_between(origin, ready, clock))
    known = sum(time.seconds for time in times if time.seconds is not None and time.phase is not Phase.ROLLBACK)
    if to_ready is not None and known > to_ready + _ROUNDING:
        unsound = [PhaseTime(Phase.ACCEPT, None, DISORDER), *unsound]
    sound_to_ready = all(time.phase is Phase.ROLLBACK for time in unsound)
    done = _rollback_done(start)
    end_lsn = _end_lsn(start)
    return Timeline(
        source=start.source or None,
        family=start.family,
        version=start.version,
        start=datetime_of(origin, clock),
        ready=datetime_of(ready, clock),
        end=datetime_of(end, clock) if done else None,
        clock=_CLOCK_NAMES[clock],
        resolution=_resolution(start, clock),
        seconds_to_ready=to_ready if sound_to_ready else None,
        seconds=seconds_of(time_between(origin, end, clock)) if done and not unsound else None,
        phases=times,
        rollback_start=datetime_of(start.marks.get(Event.UNDO_START), clock),
        rollback_seconds=seconds_of(time_between(start.marks.get(Event.UNDO_START), undone, clock)),
        checkpoint_lsn=None if _names_the_marker(start) else start.redo.checkpoint,
        end_lsn=end_lsn,
        pages=start.pages,
        batches=start.turns.batches or None,
        transactions=start.transactions,
        rows=start.rows,
        rolled_back=start.rolled_back or None,
        complete=bool(start.began and ready and done),
        ended=_ended(start, ended, f": {error}" if error else ""),
        notes=(
            *_stuck(start, complaints, clock),
            *filter(None, (start.newer_than_known,)),
            *_notes(start),
            *([f"no totals: {unsound[0].why}"] if unsound else measure.together(times)),
        ),
        prepared=start.prepared or None,
        parts=parts(start, clock, times),
        kind=start.kind,
        seconds_at_least=seconds_of(time_between(origin, last, clock)) if _is_unfinished(start) else None,
        reached_lsn=start.redo.scanned if end_lsn is None else None,
    )


@dataclass(frozen=True, slots=True)
class _Measure:
    """Measures the phases of `start` on one clock; `ended`: why the log has no more of it."""

    start: Recovery
    clock: Clock
    ended: str

    def phases(self) -> tuple[PhaseTime, ...]:
        """Return all phases, in their order."""
        began, discovered, _, applied, opened, ready = self.bounds()
        scan, apply = self._redo()
        spans = {
            Phase.DISCOVER: self._between(began, discovered),
            Phase.SCAN: scan,
            Phase.APPLY: apply,
            Phase.OPEN: self._between(applied, opened),
            Phase.ACCEPT: self._between(opened, ready),
            Phase.ROLLBACK: self._rollback(),
        }
        return tuple(PhaseTime(p, seconds_of(s), s if isinstance(s, str) else None) for p, s in spans.items())

    def bounds(self) -> tuple[LogMoment | str, ...]:
        """Return the bounds of the phases up to ready, or the reasons why the log does not tell them."""
        return (
            self.start.began or (NO_NOTES if self.start.hides_notes else LOG_BEGINS_LATER),
            self._discovered(),
            self._turned(),
            self._applied(),
            self._mark(Event.OPENED, "InnoDB was open"),
            self._mark(Event.READY, "the server was ready"),
        )

    def _redo(self) -> tuple[int | str, int | str]:
        """Return the microseconds of scan and of apply, or the reasons."""
        if self.start.hides_notes:
            return NO_NOTES, NO_NOTES
        redo = self.start.turns
        if not redo.batches:
            scanned = self._scanned()
            missing = scanned if isinstance(scanned, str) else "no batch of redo was applied"
            return self._between(self._discovered(), scanned), missing
        applied = self._applied()
        return redo.scan.parts[self.clock], applied if isinstance(applied, str) else redo.apply.parts[self.clock]

    def _scanned(self) -> LogMoment | str:
        """Return the last line of a scan that no batch followed."""
        if self.start.hides_notes:
            return NO_NOTES
        marks = self.start.marks
        lines = [marks[e] for e in (Event.SCANNED, Event.END_OF_LOG) if e in marks]
        if self.start.had_no_redo:
            # The checkpoint is the end of the log: nothing is scanned behind the line that says so.
            lines = [marks[Event.MISMATCH], *([self.start.discovered] if self.start.discovered else [])]
        if lines and marks.keys() & _LATER:
            return max(lines, key=lambda moment: moment.number)
        return self._missing("the scan ended", _LATER)

    def _turned(self) -> LogMoment | str:
        """Return the line at which scan became apply, once and for all."""
        redo = self.start.turns
        if not redo.batches:
            return self._scanned()
        once = not redo.mixed and (redo.batches == 1 or self.start.batch_key)
        return redo.first if once and redo.first else "scan and apply took turns"

    def _applied(self) -> LogMoment | str:
        redo = self.start.turns
        if not redo.batches:
            return self._scanned()
        return self._missing("the last batch was applied", _LATER) if redo.applying else redo.turn or LOG_BEGINS_LATER

    def _rollback(self) -> int | str:
        if self.start.hides_notes:
            return NO_NOTES
        marks = self.start.marks
        done, ready = marks.get(Event.UNDO_END), marks.get(Event.READY)
        if done is None:
            if _rollback_known(self.start):
                return f"not completed: {self.ended}"
            serves_nobody = self.start.kind is not StartKind.SERVER and Event.OPENED in marks
            return "nothing was rolled back" if ready or serves_nobody else self.ended
        if ready is None:
            return "the log does not say when the server was ready"
        if done.number < ready.number:
            return "completed before the server was ready"
        return between(ready, done, self.clock)

    def _discovered(self) -> LogMoment | str:
        if self.start.hides_notes:
            return NO_NOTES
        if self.start.discovered:
            return self.start.discovered
        if Event.NOT_SHUT_DOWN in self.start.marks or Event.CRASH_RECOVERY in self.start.marks:
            return "the log says only after the scan that it began"
        return LOG_BEGINS_LATER

    def _mark(self, event: Event, what: str) -> LogMoment | str:
        if event is Event.READY and event not in self.start.marks and self.start.kind is not StartKind.SERVER:
            return f"{self.start.kind}: nobody connects"
        if event not in self.start.marks and self.start.hides_notes:
            return NO_NOTES
        return self.start.marks.get(event) or self._missing(what, frozenset((Event.READY,)))

    def _missing(self, what: str, later: frozenset[Event]) -> str:
        return f"the log has no line that says when {what}" if self.start.marks.keys() & later else self.ended

    def _between(self, begin: LogMoment | str, end: LogMoment | str) -> int | str:
        if isinstance(begin, str):
            return begin
        return end if isinstance(end, str) else between(begin, end, self.clock)

    def together(self, times: tuple[PhaseTime, ...]) -> Iterator[str]:
        """Yield the sum of phases in a row that the log cannot tell apart."""
        if all(time.seconds is not None for time in times[:-1]):
            return
        known = [(i, b) for i, b in enumerate(self.bounds()) if isinstance(b, LogMoment) and b.tick(self.clock)]
        for (i, begin), (j, end) in pairwise(known):
            took = between(begin, end, self.clock)
            if j - i > 1 and isinstance(took, int) and any(time.seconds is None for time in times[i:j]):
                names = [time.phase.value for time in times[i:j]]
                yield f"{', '.join(names[:-1])} and {names[-1]} together took {took / MICROSECONDS:.10g} s"


_LATER = frozenset((Event.OPENED, Event.READY, Event.UNDO_END))


def time_between(begin: LogMoment | None, end: LogMoment | None, clock: Clock) -> int | str:
    """Return the microseconds from one line to another on a clock, or why there are none."""
    return between(begin, end, clock) if begin and end else LOG_BEGINS_LATER


def seconds_of(us: int | str) -> float | None:
    """Return the seconds of so many microseconds; None for a reason why there are none."""
    return us / MICROSECONDS if isinstance(us, int) else None


def _measured(start: Recovery, ended: str) -> tuple[_Measure, tuple[PhaseTime, ...]]:
    """Return the phases on the clock that times most of them; of equals on the finest.

    The lab's own is not simply the best: MySQL 8.0 holds back all lines until the server is nearly ready.
    """

    def merit(measured: tuple[_Measure, tuple[PhaseTime, ...]]) -> tuple[int, float]:
        measure, times = measured
        return sum(time.seconds is not None for time in times), -_resolution(start, measure.clock)

    measures = [_Measure(start, clock, ended) for clock in start.clocks.in_use()]
    measured = [(measure, measure.phases()) for measure in measures]
    return max(measured, key=merit) if len(measured) > 1 else measured[0]


def _resolution(start: Recovery, clock: Clock) -> float:
    """Return the resolution of the coarsest stamp among those used, in seconds."""
    steps = [tick.stamp.step for moment in start.marks.values() if (tick := moment.tick(clock))]
    return max(steps, default=MICROSECONDS) / MICROSECONDS


def datetime_of(moment: LogMoment | None, clock: Clock) -> datetime | None:
    """Return the time that the log stamps: by the clock used, or where that has no date by another."""
    if moment is None:
        return None
    order = (clock, Clock.SERVER, Clock.COLLECTOR)
    return next((d for c in order if (tick := moment.tick(c)) and (d := tick.stamp.datetime())), None)


def _rollback_known(start: Recovery) -> bool:
    """Return True if there was something to roll back: transactions that are only cleaned up have no rows to undo."""
    return Event.UNDO_START in start.marks or bool(start.transactions and start.rows != 0)


def _rollback_done(start: Recovery) -> bool:
    if Event.UNDO_END in start.marks:
        return True
    return Event.READY in start.marks and not _rollback_known(start) and not start.hides_notes


def _is_unfinished(start: Recovery) -> bool:
    """Return True if its last line is one of its recovery."""
    if start.outcome is not None:
        return False
    return Event.READY not in start.marks or (_rollback_known(start) and not _rollback_done(start))


def _end_lsn(start: Recovery) -> int | None:
    """Return the LSN of the last line of the scan, once a later line shows that it was over; else of the opening."""
    over = start.turns.batches or start.marks.keys() & _LATER or Event.END_OF_LOG in start.marks
    if start.redo.scanned is not None and over and (Event.PARSED not in start.marks or Event.END_OF_LOG in start.marks):
        return start.opened_lsn if _scan_went_on(start) else start.redo.scanned
    return start.opened_lsn


def _scan_went_on(start: Recovery) -> bool:
    """Return True if the last line of a scan of MySQL or Percona Server was not of its end.

    It says how far it is every 80 pieces, and where it ends, but not always (seen with 9.7.4); then it opens with the
    LSN where it ended, or with one a hundred bytes later (9.x).
    """
    if start.family not in (Family.MYSQL, Family.PERCONA) or start.opened_lsn is None or start.redo.scanned is None:
        return False
    return start.opened_lsn - start.redo.scanned >= _PIECE


def _ended(start: Recovery, ended: str, why: str) -> str:
    if start.kind is not StartKind.SERVER:
        return start.outcome or f"{ended}{why}"
    ready, undone = start.marks.get(Event.READY), start.marks.get(Event.UNDO_END)
    if ready:
        if undone and undone.number > ready.number:
            return "rollback completed"
        done = _rollback_done(start) or start.hides_notes
        return "ready" if done else f"{ended} before the rollback was completed{why}"
    if start.hides_notes and not start.began:
        return f"{ended}, and has no line that says whether it was ready"
    first = "rollback completed, then " if undone else ""
    return f"{first}{ended} before it was ready{why}"


def _names_the_marker(start: Recovery) -> bool:
    """Return True if the "checkpoint LSN" of the log is that of the record that marks the checkpoint in the redo.

    MariaDB 10.2 to 10.4 print that one (recv_sys->mlog_checkpoint_lsn): where the log stood when the checkpoint was
    made, which can be gigabytes after the LSN from which the redo is read.
    """
    if start.redo.checkpoint is None:
        return False
    marked = start.family is Family.MARIADB and (start.version or "").startswith(_MARKED)
    return marked or (start.redo.first_scanned or start.redo.checkpoint) < start.redo.checkpoint


_STUCK = 100
"""Complaints in a row of a stuck server: it has hundreds a second, and recoveries that ended had none."""


def _stuck(start: Recovery, complaints: Complaints | None, clock: Clock) -> Iterator[str]:
    """Yield that the recovery got no further, and what to do."""
    if complaints is None or complaints.times < _STUCK or start.stage is Stage.READY:
        return
    since = datetime_of(complaints.since, clock)
    when = f" since {since}" if since else ""
    yield (
        f"stuck{when}: {complaints.times:,} times no free block was found in the buffer pool, and nothing else was "
        "told. It may never end: kill it (SIGKILL) and start it once with innodb_read_io_threads = 64, or with another "
        "innodb_buffer_pool_size"
    )


_WITNESSES = {
    Event.XA_RECOVERY: "the crash recovery of the binary log",
    Event.BINARY_LOG: "the crash recovery of the binary log",
    Event.XA_RECOVERED: "the crash recovery of the binary log",
    Event.PERCENTS: "the percents of an apply batch or a rollback",
}


def _notes(start: Recovery) -> Iterator[str]:
    if not start.notes:
        missing = (
            f"{NO_NOTES} (MySQL 5.7 and later write them with log_error_verbosity=3)" if start.hides_notes else NO_LINES
        )
        witnesses = dict.fromkeys(what for event, what in _WITNESSES.items() if event in start.marks)
        yield f"{missing}: {' and '.join(witnesses)} prove the crash"
    if _scan_went_on(start):
        yield "the log does not tell where the scan ended: the end LSN is the one with which InnoDB opened"
    if _names_the_marker(start):
        yield "the log does not tell from which LSN the redo was read"
    batches = start.turns.batches
    if batches > 1 and start.turns.mixed:
        yield f"{batches} batches: {MIXED_TURNS}"
    elif batches > 1 and start.batch_key:
        yield f"{batches} batches: apply includes reading the redo again between them"
    elif batches > 1:
        yield f"{batches} batches: scan and apply are each the sum of their turns"


def undecided(start: Recovery, before: str | None) -> UndecidedStart | None:
    """Return a start of which the log does not tell whether it recovered; None where it does."""
    if not start.is_undecided:
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
        why=LOG_BEGINS_LATER if start.notes else NO_NOTES if start.hides_notes else NO_LINES,
    )


def parts(start: Recovery, clock: Clock, phases: Sequence[PhaseTime]) -> tuple[PhasePart, ...]:
    """Return the parts of its phases that `start` told, in their order, as `clock` times them; `phases`: all of them.

    What is left of a scan that has parts is that of the redo.
    """
    told = [
        PhasePart(phase, part, took / MICROSECONDS)
        for phase, part, begin, end in _spans(start)
        if isinstance(took := between(begin, end, clock), int)
    ]
    if not told:
        return ()
    found: list[PhasePart] = []
    for time in phases:
        own = [part for part in told if part.phase is time.phase]
        rest = None if time.seconds is None else round(time.seconds - sum(part.seconds for part in own), 6)
        # Stamps that are out of order make parts that are longer than their phase, and worth nothing.
        if not own or (rest is not None and rest < 0):
            continue
        found += [PhasePart(time.phase, REDO, rest)] if time.phase is Phase.SCAN and rest is not None else []
        found += own
    return tuple(found)


def _spans(start: Recovery) -> Iterator[tuple[Phase, str, LogMoment, LogMoment]]:
    marks = start.marks
    doublewrite = marks.get(Event.DOUBLEWRITE)
    begin = marks.get(Event.TABLESPACES) or marks.get(Event.TABLESPACES_READ)
    end = marks.get(Event.TABLESPACES_DONE) or doublewrite
    # To 5.6 the lines of both stand behind the one that shows the crash, and where there is no redo behind all of the
    # scan.
    late = Phase.OPEN if start.had_no_redo else Phase.SCAN
    if begin and end and start.discovered:
        yield Phase.DISCOVER if end.number < start.discovered.number else late, TABLESPACES, begin, end
    if doublewrite and start.restored and start.discovered:
        yield late, DOUBLEWRITE, doublewrite, start.restored
    if undo := start.resurrected:
        # MySQL to 5.7 and MariaDB apply what is left of the redo after it, later MySQL before it.
        phase = Phase.SCAN if start.turns.batches > undo.batches else Phase.OPEN
        yield phase, UNDO_RESURRECTION, undo.begin, undo.end
    opened, begin, end = (marks.get(event) for event in (Event.OPENED, Event.BINARY_LOG, Event.XA_RECOVERED))
    if opened and begin and end and opened.number < begin.number < end.number:
        yield Phase.ACCEPT, BINARY_LOG, begin, end
