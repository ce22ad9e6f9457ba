"""The starts in error logs that people bring, as text with a picture of each recovery, and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from redolab.errorlog import FoundStart, Timeline, UndecidedStart, as_json, starts
from redolab.errorlog.compressed import Unpacked
from redolab.errorlog.files import read_log
from redolab.errorlog.kinds import StartKind
from redolab.errorlog.phases import NO_NOTES
from redolab.errorlog.picture import picture
from redolab.errorlog.reader import BACKUP_END_LOST
from redolab.errorlog.summary import BadStarts, StartSummary
from redolab.errors import FindingsMade, LabError
from redolab.file_names import as_unicode
from redolab.units import format_duration, noun

_STANDARD_INPUT = "-"
_HIDDEN = " (MySQL 5.7 and later write its lines only with log_error_verbosity=3)"
_ZSTD = b"(\xb5/\xfd"
_MOST_ENDS = 5
"""Ends of a crash loop that are shown, the most frequent."""
_REMEDIES = {NO_NOTES: ", log_error_verbosity=3 has them written"}


class _Unreadable(Exception):
    """A file cannot be read; nothing else than that, such as a reader of the output that went away."""


def report_timelines(files: Sequence[Path], as_json: bool) -> int:
    """Print the recoveries in every file, and errors of files that cannot be read. Return the exit status.

    The status is 3 if the last start in a file did not reach its goal.
    """
    all_read, ends_badly = True, False
    for path in files:
        log = _Log(path)
        try:
            if as_json:
                _write_json(log)
            else:
                for paragraph in _paragraphs(log):
                    sys.stdout.write(f"{log.name}: {paragraph}\n")
            ends_badly = ends_badly or bool(log.summary.bad)
            if log.content is not None and log.content.damage is not None:
                sys.stderr.write(f"redolab: {path} is damaged, and was read up to there: give it whole, or unpacked\n")
                all_read = False
        except _Unreadable as problem:
            sys.stderr.write(f"redolab: {path} cannot be read ({problem}): give the server's error log\n")
            all_read = False
    if not all_read:
        return LabError.exit_status
    return FindingsMade.exit_status if ends_badly else 0


@dataclass(slots=True)
class _Log:
    """Starts of a log as they are read: its recoveries one by one, and the sum of all."""

    path: Path
    summary: StartSummary = field(default_factory=StartSummary)
    content: Unpacked | None = None

    @property
    def name(self) -> str:
        """The path as given, for output."""
        return as_unicode(self.path)

    def recoveries(self) -> Iterator[tuple[FoundStart, Timeline, BadStarts | None]]:
        """Yield the starts that recovered, each with its recovery, and the bad starts around it if it ended badly."""
        try:
            is_file = str(self.path) != _STANDARD_INPUT
            with self.path.open("rb") if is_file else nullcontext(sys.stdin.buffer) as stream:
                self.content = Unpacked(stream)
                for start in starts(read_log(self.content)):
                    row = self.summary.add(start)
                    if start.recovery is not None:
                        yield start, start.recovery, row
            self.summary.finish()
        except OSError as error:
            raise _Unreadable(error.strerror or error) from error


def _write_json(log: _Log) -> None:
    """Write one line as the recoveries are found: a log can hold more of them than memory."""
    begin = f'{{"file":{msgspec.json.encode(log.name).decode()},"recoveries":['
    before = begin
    try:
        for _, timeline, _ in log.recoveries():
            sys.stdout.write(before + as_json(timeline).decode())
            before = ","
    except _Unreadable:
        # The recoveries found so far make a whole line, too.
        sys.stdout.write("" if before is begin else "]}\n")
        raise
    summary = log.summary
    rest = {
        "undecided": {"count": summary.undecided, "last": list(summary.last_undecided)},
        "starts": {
            "count": summary.starts,
            "clean": summary.clean,
            "crashes": summary.crashes,
            "last": [
                {name: getattr(start, name) for name in ("source", "kind", "began", "reached", "ended")}
                for start in summary.last.values()
            ],
        },
        "crash_loops": [_loop_as_json(loop) for loop in summary.loops],
    }
    sys.stdout.write(f"{begin if before is begin else ''}],{msgspec.json.encode(rest).decode()[1:]}\n")


def _loop_as_json(loop: BadStarts) -> dict[str, object]:
    return {
        "source": loop.first.source,
        "starts": loop.starts,
        "recoveries": loop.recoveries,
        "reached": loop.reached,
        "first": loop.first.began,
        "last": loop.last.last,
        "seconds": loop.seconds,
        "ended": [{"count": count, "ended": ended} for ended, count in loop.ended.most_common()],
    }


def _paragraphs(log: _Log) -> Iterator[str]:
    """Yield the starts and recoveries of a log, in words and bars."""
    found = list(log.recoveries())
    summary = log.summary
    clean = noun(summary.clean, "clean start")
    if not (found or summary.undecided or summary.bad):
        yield "no crash recovery in it" + (f": {clean}" if summary.starts else _why_none(log))
        return
    shown = set[BadStarts]()
    for number, (start, timeline, row) in enumerate(found, 1):
        # Of a loop the first recovery is shown and the last.
        loop = row if row is not None and row.is_loop and row.last is not start else None
        if loop is not None and loop in shown:
            continue
        yield "\n  ".join((f"recovery {number} of {len(found)}", *picture(timeline)))
        if loop is not None:
            shown.add(loop)
            yield _loop(loop)
    yield from (_loop(loop) for loop in summary.loops if loop not in shown)
    if summary.undecided:
        yield _undecided(summary)
    if summary.crashes:
        died = "the server was ready and died without a word" + (" each time" if summary.crashes > 1 else "")
        yield f"{noun(summary.crashes, 'crash', 'crashes')}: {died}"
    if summary.clean:
        yield clean
    for last in summary.last.values():
        if not (last.reached and last.kind is StartKind.SERVER):
            yield _last(last)


def _loop(loop: BadStarts) -> str:
    source = f"{loop.first.source}, " if loop.first.source else ""
    took = "" if loop.seconds is None else f" in {format_duration(loop.seconds)}"
    when = "" if loop.first.began is None else f" (from {loop.first.began} to {loop.last.last})"
    reached = f", {loop.reached:,} of them ready before they ended" if loop.reached else ""
    ends = "".join(f"  {count:>7,} × {ended}\n" for ended, count in loop.ended.most_common(_MOST_ENDS))
    rest = len(loop.ended) - _MOST_ENDS
    more = f"  and {noun(rest, 'other end')}\n" if rest > 0 else ""
    return f"{source}crash loop, {loop.starts:,} starts{took}{when}{reached}; each ended by\n{ends}{more}"


def _last(start: FoundStart) -> str:
    source = f" of {start.source}" if start.source else ""
    known = [str(each) for each in (None if start.kind is StartKind.SERVER else start.kind, start.began) if each]
    which = f" ({', '.join(known)})" if known else ""
    is_known = start.reached or BACKUP_END_LOST in start.ended
    return f"the last start{source}{which}{'' if is_known else ' is not ready'}: {start.ended}"


def _undecided(summary: StartSummary) -> str:
    shown = summary.last_undecided
    last = f" (the last {len(shown)} of them)" if summary.undecided > len(shown) else ""
    reasons = dict.fromkeys(f"{each.why}{_REMEDIES.get(each.why, '')}" for each in shown)
    begin = f"whether {noun(summary.undecided, 'start')} recovered, the log cannot tell{last}: {'; '.join(reasons)}"
    return "\n".join((begin, *map(_undecided_line, shown), ""))


def _undecided_line(start: UndecidedStart) -> str:
    took = [
        f"{what} {format_duration(seconds)}"
        for what, seconds in (("InnoDB", start.innodb_seconds), ("to ready", start.seconds_to_ready))
        if seconds is not None
    ]
    before = [f"before it: {start.before}"] if start.before else []
    return "  " + ", ".join([f"start {start.start or start.ready}", *took, *before])


def _why_none(log: _Log) -> str:
    """Return the likely reason why a log has no recovery, as far as its beginning shows."""
    beginning = b"" if log.content is None else log.content.beginning
    if not beginning:
        return ": it is empty"
    if beginning.startswith(_ZSTD):
        return f": it is compressed, try zstdcat {log.name} | redolab timeline -"
    if b"\0" in beginning:
        return ": it is no text"
    return "" if b"MariaDB" in beginning or b"[Note]" in beginning else _HIDDEN
