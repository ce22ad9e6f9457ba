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

from redolab.errorlog import FoundStart, Timeline, UndecidedStart, as_json, starts
from redolab.errorlog.compressed import Unpacked
from redolab.errorlog.files import read_log
from redolab.errorlog.kinds import StartKind
from redolab.errorlog.phases import NO_NOTES
from redolab.errorlog.picture import counted, picture
from redolab.errorlog.reader import BACKUP_END_LOST
from redolab.errorlog.summary import CrashLoop, StartSummary
from redolab.units import format_duration

_STANDARD_INPUT = "-"
_HIDDEN = " (MySQL 5.7 and later write its lines only with log_error_verbosity=3)"
_ZSTD = b"(\xb5/\xfd"
_MOST_ENDS = 5
"""Ends of a crash loop that are shown, the most frequent."""
_REMEDIES = {NO_NOTES: ", log_error_verbosity=3 has them written"}
_MOST = 20
"""Starts of which a log does not tell whether they recovered, that are shown: the last of them."""


class _Unreadable(Exception):
    """A file cannot be read; nothing else than that, such as a reader of the output that went away."""


class Reported(msgspec.Struct, frozen=True):
    """Result over all files: each could be read; in one of them the last start did not come to its end."""

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
    """Starts of a log as they are read: its recoveries one by one, and the sum of all."""

    path: Path
    summary: StartSummary = field(default_factory=StartSummary)
    content: Unpacked | None = None
    undecided: int = 0
    last_undecided: deque[UndecidedStart] = field(default_factory=lambda: deque(maxlen=_MOST))
    """Starts of which the log does not tell whether they recovered: the last of them."""

    def recoveries(self) -> Iterator[tuple[int, Timeline]]:
        """Yield the recoveries, each with the number of its start; the other starts are kept here."""
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
    """Write one line as the recoveries are found: a log can hold more of them than memory."""
    begin = f'{{"file":{msgspec.json.encode(str(log.path)).decode()},"recoveries":['
    before = begin
    try:
        for _, timeline in log.recoveries():
            sys.stdout.write(before + as_json(timeline).decode())
            before = ","
    except _Unreadable:
        # The recoveries found so far make a whole line, too.
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
        what = _why_none(log) if not summary.starts else f": {counted(summary.clean, 'clean start')}"
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
        lines = "".join(f"  {line}\n" for line in picture(timeline))
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
        console.file.write(f"{name}: {counted(summary.crashes, 'crash', 'es')}: {died}\n")
    if summary.clean:
        console.file.write(f"{name}: {counted(summary.clean, 'clean start')}\n")
    for last in summary.last.values():
        if not last.reached or last.kind is not StartKind.SERVER:
            console.file.write(f"{name}: {_last(last)}\n")


class _Loops:
    """Loops by the numbers of their starts."""

    def __init__(self, summary: StartSummary) -> None:
        self._within: dict[str | None, list[tuple[int, int, int]]] = {}
        for number, (source, first, last) in enumerate(summary.within):
            self._within.setdefault(source, []).append((first, last, number))

    def around(self, start: int, source: str | None) -> int | None:
        """Return the loop of a start, unless it is the last in it: the first and the last are both shown."""
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
    more = f"  and {counted(rest, 'other end')}\n" if rest > 0 else ""
    return f"{source}crash loop, {loop.starts:,} starts{took}{when}{reached}; each ended by\n{ends}{more}"


def _last(start: FoundStart) -> str:
    source = f" of {start.source}" if start.source else ""
    known = [str(each) for each in (None if start.kind is StartKind.SERVER else start.kind, start.began) if each]
    which = f" ({', '.join(known)})" if known else ""
    is_known = start.reached or BACKUP_END_LOST in start.ended
    return f"the last start{source}{which}{'' if is_known else ' is not ready'}: {start.ended}"


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


def _why_none(log: _Log) -> str:
    """Return the likely reason, as far as the beginning of a file tells."""
    beginning = b"" if log.content is None else log.content.beginning
    if not beginning:
        return ": it is empty"
    if beginning.startswith(_ZSTD):
        return f": it is compressed, try zstdcat {log.path} | redolab timeline -"
    if b"\0" in beginning:
        return ": it is no text"
    return "" if b"MariaDB" in beginning or b"[Note]" in beginning else _HIDDEN
