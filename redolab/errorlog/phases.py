"""A start made into a timeline: phases and their parts, totals and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from redolab.errorlog.clocks import DISORDER, MIXED, SET_BACK, LogMoment, between
from redolab.errorlog.kinds import Event, Family, Phase, StartKind, StartStage
from redolab.errorlog.redo import LOG_BEGINS_LATER, MIXED_TURNS
from redolab.errorlog.stamps import MICROSECONDS, Clock
from redolab.errorlog.start import Complaints, Start
from redolab.errorlog.timeline import PhasePart, PhaseTime, Timeline, UndecidedStart

if TYPE_CHECKING:
    _Bound = LogMoment | str
    """Line at which a phase begins or ends, or the reason why the log has no such line."""

NO_NOTES = "InnoDB's notes are not in the log"
NO_LINES = "no line of InnoDB's start is in the log"
REDO = "redo"
_MARKED = ("10.2.", "10.3.", "10.4.")
_ROUNDING = 1e-6
_PIECE = 64 * 1024
"""Bytes of redo that MySQL reads at a time in the scan (RECV_SCAN_SIZE)."""


def timeline(
    start: Start, ended: str, last: LogMoment | None, error: str | None, complaints: Complaints | None
) -> Timeline:
    """Return the timeline of a recovery.

    `ended`: the reason why no more lines of it follow after `last`; `error`: the last that it gave, where that is why;
    `complaints`: its last ones, if it ended with them. Its clock is the one that times most phases; of equals the finest.
    """
    start.redo.settle()
    bounds = _bounds(start, ended)
    measured = {clock: _phases(start, bounds, ended, clock) for clock in start.clocks.in_use()}

    def merit(clock: Clock) -> tuple[int, float]:
        return sum(time.seconds is not None for time in measured[clock]), -_resolution(start, clock)

    # The lab's own clock is not simply the best: MySQL 8.0 holds back all lines until the server is nearly ready.
    clock = max(measured, key=merit)
    times = measured[clock]
    origin = start.began or start.discovered
    begun, ready, undone = (start.marks.get(each) for each in (Event.UNDO_START, Event.READY, Event.UNDO_END))
    end = max((moment for moment in (ready, undone) if moment), key=lambda moment: moment.number, default=None)
    # A clock that goes wrong within a recovery leaves its total as little worth as the phase.
    unsound = [time for time in times if time.why in (SET_BACK, DISORDER, MIXED)]
    to_ready = seconds_between(origin, ready, clock)
    known = sum(time.seconds for time in times[:-1] if time.seconds is not None)
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
        clock=clock,
        resolution=_resolution(start, clock),
        seconds_to_ready=to_ready if sound_to_ready else None,
        seconds=seconds_between(origin, end, clock) if done and not unsound else None,
        phases=times,
        rollback_start=datetime_of(begun, clock),
        rollback_seconds=seconds_between(begun, undone, clock),
        checkpoint_lsn=None if _names_the_marker(start) else start.redo.checkpoint,
        end_lsn=end_lsn,
        pages=start.redo.pages,
        batches=start.redo.begun or None,
        transactions=start.transactions,
        rows=start.rows,
        rolled_back=start.rolled_back or None,
        complete=bool(start.began and ready and done),
        ended=_ended(start, ended, f": {error}" if error else ""),
        notes=(
            *_stuck(start, complaints, clock),
            *_notes(start),
            *([f"no totals: {unsound[0].why}"] if unsound else _together(times, bounds, clock)),
        ),
        prepared=start.prepared or None,
        parts=_parts(start, clock, times),
        kind=start.kind,
        seconds_at_least=seconds_between(origin, last, clock) if _is_unfinished(start) else None,
        reached_lsn=start.redo.scanned if end_lsn is None else None,
    )


BINARY_LOG_PART = "binary log and XA recovery"
"""Part of the phase accept: the binary log and the engines agree on what was prepared."""
_LATER = frozenset((Event.OPENED, Event.READY, Event.UNDO_END))
_XA = frozenset((Event.XA_RECOVERY, Event.BINARY_LOG, Event.XA_RECOVERED))


def _bounds(start: Start, ended: str) -> tuple[_Bound, ...]:
    """Return the bounds of the phases up to ready; `ended`: the reason why the log has no more of it."""
    marks, redo = start.marks, start.redo
    opened, ready = marks.get(Event.OPENED), marks.get(Event.READY)
    nobody = None if start.kind is StartKind.SERVER else f"{start.kind}: nobody connects"
    if start.hides_notes:
        return start.began or NO_NOTES, NO_NOTES, NO_NOTES, NO_NOTES, opened or NO_NOTES, ready or nobody or NO_NOTES

    def missing(what: str, later: object) -> str:
        return f"the log has no line that says when {what}" if later else ended

    is_over = marks.keys() & _LATER
    turned: _Bound
    applied: _Bound
    if redo.begun:
        once = not redo.is_mixed and (redo.begun == 1 or redo.key)
        turned = redo.first_batch if once and redo.first_batch else "scan and apply took turns"
        applied = missing("the last batch was applied", is_over) if redo.is_applying else redo.turn or LOG_BEGINS_LATER
    else:
        turned = applied = (_scanned(start) if is_over else None) or missing("the scan ended", is_over)
    return (
        start.began or LOG_BEGINS_LATER,
        _discovered(start),
        turned,
        applied,
        opened or missing("InnoDB was open", ready),
        ready or nobody or ended,
    )


def _discovered(start: Start) -> _Bound:
    if start.discovered:
        return start.discovered
    says_late = start.marks.keys() & {Event.NOT_SHUT_DOWN, Event.CRASH_RECOVERY}
    return "the log says only after the scan that it began" if says_late else LOG_BEGINS_LATER


def _scanned(start: Start) -> LogMoment | None:
    """Return the last line of a scan that no batch followed."""
    marks = start.marks
    lines = [marks[e] for e in (Event.SCANNED, Event.END_OF_LOG) if e in marks]
    if start.had_no_redo:
        # The checkpoint is the end of the log: nothing is scanned behind the line that says so.
        lines = [marks[Event.MISMATCH], *([start.discovered] if start.discovered else [])]
    return max(lines, key=lambda moment: moment.number, default=None)


def _phases(start: Start, bounds: Sequence[_Bound], ended: str, clock: Clock) -> tuple[PhaseTime, ...]:
    """Return all phases as a clock times them, in their order."""
    began, discovered, _, applied, opened, ready = bounds
    if start.redo.begun:
        scan, apply = start.redo.scan.parts[clock], start.redo.apply.parts[clock]
    else:
        scan, apply = _span(discovered, applied, clock), "no batch of redo was applied"
    spans = (
        _span(began, discovered, clock),
        scan,
        applied if isinstance(applied, str) else apply,
        _span(applied, opened, clock),
        _span(opened, ready, clock),
        _rollback(start, ended, clock),
    )
    return tuple(
        PhaseTime(phase, None, span) if isinstance(span, str) else PhaseTime(phase, span / MICROSECONDS, None)
        for phase, span in zip(Phase, spans, strict=True)
    )


def _rollback(start: Start, ended: str, clock: Clock) -> int | str:
    if start.hides_notes:
        return NO_NOTES
    done, ready = start.marks.get(Event.UNDO_END), start.marks.get(Event.READY)
    if done is None:
        if _rollback_known(start):
            return f"not completed: {ended}"
        serves_nobody = start.kind is not StartKind.SERVER and Event.OPENED in start.marks
        return "nothing was rolled back" if ready or serves_nobody else ended
    if ready is None:
        return "the log does not say when the server was ready"
    return "completed before the server was ready" if done.number < ready.number else between(ready, done, clock)


def _together(times: Sequence[PhaseTime], bounds: Sequence[_Bound], clock: Clock) -> Iterator[str]:
    """Yield the sum of consecutive phases that the log does not time one by one."""
    known = [(i, b) for i, b in enumerate(bounds) if isinstance(b, LogMoment) and b.tick(clock)]
    for (i, begin), (j, end) in pairwise(known):
        took = seconds_between(begin, end, clock)
        if j - i > 1 and took is not None and any(time.seconds is None for time in times[i:j]):
            names = [time.phase.value for time in times[i:j]]
            yield f"{', '.join(names[:-1])} and {names[-1]} together took {took:.10g} s"


def _span(begin: _Bound | None, end: _Bound | None, clock: Clock) -> int | str:
    """Return the microseconds from one line to another on a clock, or why there are none."""
    if not isinstance(begin, LogMoment):
        return begin or LOG_BEGINS_LATER
    return between(begin, end, clock) if isinstance(end, LogMoment) else end or LOG_BEGINS_LATER


def seconds_between(begin: LogMoment | None, end: LogMoment | None, clock: Clock) -> float | None:
    """Return the seconds from one line to another on a clock; None where the clock does not have them."""
    took = _span(begin, end, clock)
    return took / MICROSECONDS if isinstance(took, int) else None


def _resolution(start: Start, clock: Clock) -> float:
    """Return the resolution of the coarsest stamp among those used, in seconds."""
    steps = [tick.stamp.step for moment in start.marks.values() if (tick := moment.tick(clock))]
    return max(steps, default=MICROSECONDS) / MICROSECONDS


def datetime_of(moment: LogMoment | None, clock: Clock) -> datetime | None:
    """Return the time that the log stamps: by the clock used, or where that has no date by another."""
    if moment is None:
        return None
    order = (clock, Clock.SERVER, Clock.COLLECTOR)
    return next((d for c in order if (tick := moment.tick(c)) and (d := tick.stamp.datetime())), None)


def _rollback_known(start: Start) -> bool:
    """Return True if there was something to roll back: transactions that are only cleaned up have no rows to undo."""
    return Event.UNDO_START in start.marks or bool(start.transactions and start.rows != 0)


def _rollback_done(start: Start) -> bool:
    if Event.UNDO_END in start.marks:
        return True
    return Event.READY in start.marks and not _rollback_known(start) and not start.hides_notes


def _is_unfinished(start: Start) -> bool:
    """Return True if its last line is one of its recovery."""
    if start.outcome is not None:
        return False
    return Event.READY not in start.marks or (_rollback_known(start) and not _rollback_done(start))


def _end_lsn(start: Start) -> int | None:
    """Return the LSN of the last line of the scan, once a later line shows that it was over; else of the opening."""
    marks, scanned = start.marks, start.redo.scanned
    is_over = start.redo.begun or marks.keys() & {*_LATER, Event.END_OF_LOG}
    if scanned is None or not is_over or (Event.PARSED in marks and Event.END_OF_LOG not in marks):
        return start.opened_lsn
    return start.opened_lsn if _scan_went_on(start) else scanned


def _scan_went_on(start: Start) -> bool:
    """Return True if the last line of a scan of MySQL or Percona Server was not of its end.

    It says how far it is every 80 pieces, and where it ends, but not always (seen with 9.7.4); then it opens with the
    LSN where it ended, or with one a hundred bytes later (9.x).
    """
    if start.family not in (Family.MYSQL, Family.PERCONA) or start.opened_lsn is None or start.redo.scanned is None:
        return False
    return start.opened_lsn - start.redo.scanned >= _PIECE


def _ended(start: Start, ended: str, why: str) -> str:
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


def _names_the_marker(start: Start) -> bool:
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


def _stuck(start: Start, complaints: Complaints | None, clock: Clock) -> Iterator[str]:
    """Yield that the recovery got no further, and what to do."""
    if complaints is None or complaints.times < _STUCK or start.stage is StartStage.READY:
        return
    since = datetime_of(complaints.first.moment, clock)
    when = f" since {since}" if since else ""
    yield (
        f"stuck{when}: {complaints.times:,} times no free block was found in the buffer pool, and nothing else was "
        "told. It may never end: kill it (SIGKILL) and start it once with innodb_read_io_threads = 64, or with another "
        "innodb_buffer_pool_size"
    )


def _notes(start: Start) -> Iterator[str]:
    if start.newer_than_known:
        yield start.newer_than_known
    if not start.notes:
        missing = (
            f"{NO_NOTES} (MySQL 5.7 and later write them with log_error_verbosity=3)" if start.hides_notes else NO_LINES
        )
        witnesses = {"the crash recovery of the binary log": start.marks.keys() & _XA}
        witnesses["the percents of an apply batch or a rollback"] = start.marks.keys() & {Event.PERCENTS}
        yield f"{missing}: {' and '.join(what for what, events in witnesses.items() if events)} prove the crash"
    if _scan_went_on(start):
        yield "the log does not tell where the scan ended: the end LSN is the one with which InnoDB opened"
    if _names_the_marker(start):
        yield "the log does not tell from which LSN the redo was read"
    if (batches := start.redo.begun) > 1:
        turns = "scan and apply are each the sum of their turns"
        if start.redo.is_mixed:
            turns = MIXED_TURNS
        elif start.redo.key:
            turns = "apply includes reading the redo again between them"
        yield f"{batches} batches: {turns}"


def undecided(start: Start, before: str | None) -> UndecidedStart | None:
    """Return a start that may have recovered or not; None where the log shows which."""
    began, ready = start.began, start.marks.get(Event.READY)
    if ready is None or start.proven or (start.notes and not start.head_lost):
        return None
    clocks = list(start.clocks.in_use())
    opening, opened = start.marks.get(Event.INNODB_BEGINS), start.marks.get(Event.OPENED)
    clock = next((each for each in clocks if seconds_between(began, ready, each) is not None), clocks[0])
    return UndecidedStart(
        start=datetime_of(began, clock),
        ready=datetime_of(ready, clock),
        seconds_to_ready=seconds_between(began, ready, clock),
        innodb_seconds=seconds_between(opening, opened, clock),
        before=before,
        why=LOG_BEGINS_LATER if start.notes else NO_NOTES if start.hides_notes else NO_LINES,
    )


def _parts(start: Start, clock: Clock, phases: Sequence[PhaseTime]) -> tuple[PhasePart, ...]:
    """Return the timed parts of a start's phases, in their order; `phases`: all phases, timed by the same clock.

    The rest of a scan with parts is the scan of the redo.
    """
    timed = [
        PhasePart(phase, part, took)
        for phase, part, begin, end in _spans(start)
        if (took := seconds_between(begin, end, clock)) is not None
    ]
    found: list[PhasePart] = []
    for time in phases:
        own = [part for part in timed if part.phase is time.phase]
        rest = None if time.seconds is None else round(time.seconds - sum(part.seconds for part in own), 6)
        # Stamps that are out of order make parts that are longer than their phase, and worth nothing.
        if not own or (rest is not None and rest < 0):
            continue
        if time.phase is Phase.SCAN and rest is not None:
            found.append(PhasePart(time.phase, REDO, rest))
        found += own
    return tuple(found)


def _spans(start: Start) -> Iterator[tuple[Phase, str, LogMoment | None, LogMoment | None]]:
    """Yield phase, name, begin and end of each part."""
    marks, discovered, doublewrite = start.marks, start.discovered, start.marks.get(Event.DOUBLEWRITE)
    # To 5.6 the lines of both stand behind the one that shows the crash, and where there is no redo behind all of the
    # scan.
    late = Phase.OPEN if start.had_no_redo else Phase.SCAN
    begin = marks.get(Event.TABLESPACES) or marks.get(Event.TABLESPACES_READ)
    end = marks.get(Event.TABLESPACES_DONE) or doublewrite
    if begin and end and discovered:
        yield Phase.DISCOVER if end.number < discovered.number else late, "tablespaces", begin, end
    if discovered:
        yield late, "doublewrite", doublewrite, start.restored
    if start.undo_read:
        begin, end, batches = start.undo_read
        # MySQL to 5.7 and MariaDB apply what is left of the redo after it, later MySQL before it.
        yield Phase.SCAN if start.redo.begun > batches else Phase.OPEN, "undo resurrection", begin, end
    opened, begin, end = (marks.get(event) for event in (Event.OPENED, Event.BINARY_LOG, Event.XA_RECOVERED))
    if end and start.has_binary_log and start.family is Family.MARIADB:
        # It reads the file only then, and says nothing before it is ready.
        end = marks.get(Event.READY)
    if opened and begin and end and opened.number < begin.number < end.number:
        yield Phase.ACCEPT, BINARY_LOG_PART, begin, end
