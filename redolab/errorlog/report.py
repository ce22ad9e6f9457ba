"""The starts in error logs that people bring, as text with a picture of each recovery, and as JSON."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape

from redolab.errorlog import FoundStart, Phase, PhaseTime, Timeline, UndecidedStart, as_json, starts
from redolab.errorlog.compressed import Unpacked
from redolab.errorlog.files import read_log
from redolab.errorlog.kinds import StartKind
from redolab.errorlog.phases import NO_NOTES, REDO
from redolab.errorlog.reader import BACKUP_END_LOST
from redolab.errorlog.summary import CrashLoop, StartSummary
from redolab.units import format_duration, format_size

_STANDARD_INPUT = "-"
_HIDDEN = " (MySQL 5.7 and later write its lines only with log_error_verbosity=3)"
_ZSTD = b"(\xb5/\xfd"
_MOST_ENDS = 5
"""Of a crash loop, the most frequent."""
_MOST = 20
"""Starts of which a log does not tell whether they recovered, that are shown: the last of them."""
_REMEDY = "set log_error_verbosity = 3 before the next crash: MySQL 5.7 and later then log their phases"
_REMEDIES = {NO_NOTES: ", log_error_verbosity=3 has them written"}
_WIDTH = 40
"""Columns of the longest bar."""
_BAR = "█"
_ORDER = tuple(Phase)
_WHOLE_SECONDS_FROM = 20.0
_LABELS = {Phase.ROLLBACK: "rollback after ready"}


class _Unreadable(Exception):
    """A file cannot be read; nothing else than that, such as a reader of the output that went away."""


class Reported(msgspec.Struct, frozen=True):
    """Whether every file could be read, and whether in one of them the last start did not come to where it was to come."""

    all_read: bool
    ends_badly: bool


def report_timelines(console: Console, files: Sequence[Path], as_json: bool) -> Reported:
    """Print the recoveries in every file. What is wrong with one is said and the next is read."""
    all_read, ends_badly = True, False
    for path in files:
        log = _Log(path)
        try:
            if as_json:
                _write_json(log)
            else:
                _print(console, log)
            ends_badly = ends_badly or bool(log.summary.bad)
            if log.content is not None and log.content.is_damaged:
                sys.stderr.write(f"redolab: {path} is damaged, and was read up to there: give it whole, or unpacked\n")
                all_read = False
        except _Unreadable as problem:
            sys.stderr.write(f"redolab: {path} cannot be read ({problem}): give the server's error log\n")
            all_read = False
    return Reported(all_read, ends_badly)


@dataclass(slots=True)
class _Log:
    """What is read of a log: its recoveries one by one, and what all its starts come to."""

    path: Path
    summary: StartSummary = field(default_factory=StartSummary)
    content: Unpacked | None = None
    undecided: int = 0
    last_undecided: deque[UndecidedStart] = field(default_factory=lambda: deque(maxlen=_MOST))
    """Starts of which the log does not tell whether they recovered: the last of them."""

    def recoveries(self) -> Iterator[tuple[int, Timeline]]:
        """The recoveries, each with the number of its start; the other starts are kept here."""
        try:
            with _opened(self.path) as self.content:
                for start in starts(read_log(self.content)):
                    number = self.summary.add(start)
                    if start.recovery is not None:
                        yield number, start.recovery
                    elif start.undecided is not None:
                        self.undecided += 1
                        self.last_undecided.append(start.undecided)
            self.summary.finish()
        except OSError as error:
            raise _Unreadable(error.strerror or error) from error


@contextmanager
def _opened(path: Path) -> Iterator[Unpacked]:
    if str(path) == _STANDARD_INPUT:
        yield Unpacked(sys.stdin.buffer)
        return
    with path.open("rb") as file:
        yield Unpacked(file)


def _write_json(log: _Log) -> None:
    """One line, written as the recoveries are found: a log can hold more of them than memory."""
    begin = f'{{"file":{msgspec.json.encode(str(log.path)).decode()},"recoveries":['
    before = begin
    try:
        for _, timeline in log.recoveries():
            sys.stdout.write(before + as_json(timeline).decode())
            before = ","
    except _Unreadable:
        # What was found until then is a whole line too.
        sys.stdout.write("" if before is begin else "]}\n")
        raise
    summary = log.summary
    rest = {
        "undecided": {"count": log.undecided, "last": list(log.last_undecided)},
        "starts": {
            "count": summary.starts,
            "clean": summary.clean,
            "crashes": summary.crashes,
            "last": [_last_as_json(start) for start in summary.last.values()],
        },
        "crash_loops": summary.loops,
    }
    sys.stdout.write(f"{begin if before is begin else ''}],{msgspec.json.encode(rest).decode()[1:]}\n")


def _last_as_json(start: FoundStart) -> dict[str, object]:
    names = ("source", "kind", "began", "reached", "ended")
    return {name: getattr(start, name) for name in names}


def _print(console: Console, log: _Log) -> None:
    found = list(log.recoveries())
    summary = log.summary
    if not (found or log.undecided or summary.bad):
        what = _why_none(log) if not summary.starts else f": {_count(summary.clean, 'clean start')}"
        console.print(f"{log.path}: no crash recovery in it{what}", markup=False, highlight=False, soft_wrap=True)
        return
    with console.capture() as capture:
        console.print(f"[bold]{escape(str(log.path))}[/]", highlight=False, soft_wrap=True, end="")
    # Nothing but the name has a style, and through the console these lines would take longer than reading the log.
    name = capture.get()
    loops, told = _Loops(summary), set[int]()
    for number, (start, timeline) in enumerate(found, 1):
        loop = loops.around(start, timeline.source)
        if loop is not None and loop in told:
            continue
        lines = "".join(f"  {line}\n" for line in _lines(timeline))
        console.file.write(f"{name}: recovery {number} of {len(found)}\n{lines}")
        if loop is not None:
            told.add(loop)
            console.file.write(f"{name}: {_loop(summary.loops[loop])}\n")
    for number, untold in enumerate(summary.loops):
        if number not in told:
            console.file.write(f"{name}: {_loop(untold)}\n")
    if log.undecided:
        console.file.write(f"{name}: {_undecided(log)}")
    if summary.crashes:
        died = "the server was ready and died without a word" + (" each time" if summary.crashes > 1 else "")
        console.file.write(f"{name}: {_count(summary.crashes, 'crash', 'es')}: {died}\n")
    if summary.clean:
        console.file.write(f"{name}: {_count(summary.clean, 'clean start')}\n")
    for last in summary.last.values():
        if not last.reached or last.kind is not StartKind.SERVER:
            console.file.write(f"{name}: {_last(last)}\n")


class _Loops:
    """Which loop a start is of."""

    def __init__(self, summary: StartSummary) -> None:
        self._within: dict[str | None, list[tuple[int, int, int]]] = {}
        for number, (source, first, last) in enumerate(summary.within):
            self._within.setdefault(source, []).append((first, last, number))

    def around(self, start: int, source: str | None) -> int | None:
        """The loop of that number's start, unless it is the last in it: the first and the last are both shown."""
        loops = self._within.get(source, [])
        at = bisect_right(loops, start, key=lambda loop: loop[0]) - 1
        return loops[at][2] if at >= 0 and start < loops[at][1] else None


def _loop(loop: CrashLoop) -> str:
    source = f"{loop.source}, " if loop.source else ""
    took = "" if loop.seconds is None else f" in {format_duration(loop.seconds)}"
    when = "" if loop.first is None else f" (from {loop.first} to {loop.last})"
    reached = f", {loop.reached:,} of them ready before they ended" if loop.reached else ""
    ends = "".join(f"  {each.count:>7,} × {each.ended}\n" for each in loop.ended[:_MOST_ENDS])
    rest = len(loop.ended) - _MOST_ENDS
    more = f"  and {_count(rest, 'other end')}\n" if rest > 0 else ""
    return f"{source}crash loop, {loop.starts:,} starts{took}{when}{reached}; each ended by\n{ends}{more}"


def _last(start: FoundStart) -> str:
    source = f" of {start.source}" if start.source else ""
    known = [str(each) for each in (None if start.kind is StartKind.SERVER else start.kind, start.began) if each]
    which = f" ({', '.join(known)})" if known else ""
    is_known = start.reached or BACKUP_END_LOST in start.ended
    return f"the last start{source}{which}{'' if is_known else ' is not ready'}: {start.ended}"


def _count(number: int, what: str, plural: str = "s") -> str:
    return f"{number:,} {what}{plural if number != 1 else ''}"


def _undecided(log: _Log) -> str:
    these = "1 start" if log.undecided == 1 else f"{log.undecided:,} starts"
    shown = log.last_undecided
    last = f" (the last {len(shown)} of them)" if log.undecided > len(shown) else ""
    reasons = dict.fromkeys(f"{each.why}{_REMEDIES.get(each.why, '')}" for each in shown)
    begin = f"whether {these} recovered, the log cannot tell{last}: {'; '.join(reasons)}"
    return "".join(f"{line}\n" for line in (begin, *map(_undecided_line, shown), ""))


def _undecided_line(start: UndecidedStart) -> str:
    took = [
        f"{what} {format_duration(seconds)}"
        for what, seconds in (("InnoDB", start.innodb_seconds), ("to ready", start.seconds_to_ready))
        if seconds is not None
    ]
    before = [f"before it: {start.before}"] if start.before else []
    return "  " + ", ".join([f"start {start.start or start.ready}", *took, *before])


def _lines(timeline: Timeline) -> list[str]:
    server = " ".join(part for part in (timeline.source, timeline.family, timeline.version) if part)
    redo = timeline.redo_bytes
    known = [
        ("server", server),
        ("started for", None if timeline.kind is StartKind.SERVER else timeline.kind),
        ("start", timeline.start),
        ("ready", timeline.ready),
        ("ended", timeline.ended),
        ("to ready", None if timeline.seconds_to_ready is None else format_duration(timeline.seconds_to_ready)),
        ("in all", None if timeline.seconds is None else format_duration(timeline.seconds)),
        ("took at least", None if timeline.seconds_at_least is None else format_duration(timeline.seconds_at_least)),
        ("came to LSN", timeline.reached_lsn),
        ("redo", None if redo is None else f"{format_size(redo)} (LSN {timeline.checkpoint_lsn} to {timeline.end_lsn})"),
        ("pages", timeline.pages),
        ("batches", timeline.batches),
        ("transactions to undo", timeline.transactions),
        ("transactions prepared", timeline.prepared),
        ("row operations to undo", timeline.rows),
        ("clock", f"{timeline.clock}, to {timeline.resolution:g} s"),
    ]  # fmt: skip
    facts = [f"{name:<25}{value}" for name, value in known if value not in (None, "")]
    return [*_headline(timeline), *facts, *_picture(timeline), *(f"note: {note}" for note in timeline.notes), ""]


def _headline(timeline: Timeline) -> Iterator[str]:
    """Yield what took longest, in words, and what to do where the log is silent."""
    whole, rest = _whole(timeline)
    longest = max((time for time in timeline.phases if time.seconds), key=_seconds, default=None)
    untimed = [time.phase for time in timeline.phases[:-1] if time.seconds is None]
    if untimed and rest > (_seconds(longest) if longest else 0.0):
        if timeline.seconds_at_least is not None:
            reached = max(
                (time.phase for time in timeline.phases if time.seconds is not None),
                key=_ORDER.index,
                default=_ORDER[0],
            )
            at_hand = next((phase for phase in untimed if _ORDER.index(phase) > _ORDER.index(reached)), untimed[-1])
            yield f"{at_hand} was not over after {_of(rest, whole)}"
        else:
            names = " and ".join(filter(None, (", ".join(untimed[:-1]), untimed[-1])))
            yield f"{names} took {_of(rest, whole)}; the log does not tell more"
    elif longest is not None:
        reason = _reason(timeline, longest.phase)
        yield f"{_LABELS.get(longest.phase, longest.phase)} took {_of(_seconds(longest), whole)}{reason and f': {reason}'}"
    if any(time.why == NO_NOTES for time in timeline.phases):
        yield _REMEDY


def _seconds(time: PhaseTime) -> float:
    return time.seconds or 0.0


def _whole(timeline: Timeline) -> tuple[float, float]:
    """Return the seconds of a recovery, as far as the log tells, and those of them that are of no timed phase."""
    timed = sum(map(_seconds, timeline.phases))
    whole = timeline.seconds or timeline.seconds_to_ready or timeline.seconds_at_least or 0.0
    return max(whole, timed), max(whole - timed, 0.0)


def _of(seconds: float, whole: float) -> str:
    places = 0 if whole >= _WHOLE_SECONDS_FROM else 1
    return f"{seconds:.{places}f} of {whole:.{places}f} s"


def _reason(timeline: Timeline, phase: Phase) -> str:
    """Return what a phase spent its time on, as far as the log tells."""
    parts = [part for part in timeline.parts if part.phase is phase]
    main = max(parts, key=lambda part: part.seconds, default=None)
    if phase is Phase.APPLY and timeline.batches:
        more = timeline.batches > 1
        return _count(timeline.batches, "batch", "es") + ("; a pool that holds the redo needs one" if more else "")
    if phase is Phase.SCAN and timeline.redo_bytes and (main is None or main.part == REDO):
        return f"{format_size(timeline.redo_bytes)} of redo"
    if phase is Phase.ROLLBACK and timeline.rows:
        return f"{_count(timeline.rows, 'row operation')} to undo"
    return "" if main is None else f"{main.part}, {main.seconds:.3f} s of it"


def _picture(timeline: Timeline) -> Iterator[str]:
    """Yield a bar for each phase, to scale, each beginning where the one before ends."""
    scale, rest = _whole(timeline)
    passed = 0.0
    for time in timeline.phases:
        label = f"  {_LABELS.get(time.phase, str(time.phase)):<23}"
        if time.seconds is None:
            yield f"{label}–  ({time.why})"
            # The phases behind those that are not timed begin after them.
            passed, rest = passed + rest, 0.0
            continue
        begin, end = (round(_WIDTH * each / scale) if scale else 0 for each in (passed, passed + time.seconds))
        passed += time.seconds
        yield f"{label}{' ' * begin + _BAR * max(end - begin, bool(time.seconds)):<{_WIDTH + 1}} {time.seconds:>9.3f} s"
        for part in timeline.parts:
            if part.phase is time.phase:
                yield f"    {f'of it {part.part}':<{22 + _WIDTH}} {part.seconds:>9.3f} s"


def _why_none(log: _Log) -> str:
    """What may be the reason, as far as the beginning of a file tells."""
    beginning = b"" if log.content is None else log.content.beginning
    if not beginning:
        return ": it is empty"
    if beginning.startswith(_ZSTD):
        return f": it is compressed, try zstdcat {log.path} | redolab timeline -"
    if b"\0" in beginning:
        return ": it is no text"
    return "" if b"MariaDB" in beginning or b"[Note]" in beginning else _HIDDEN
