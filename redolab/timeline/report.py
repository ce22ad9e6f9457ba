"""The recoveries in error logs that people bring, as text and as JSON."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape

from redolab.timeline import Phase, PhaseTime, Timeline, UndecidedStart, starts, to_json
from redolab.timeline.compressed import TORN, open_file
from redolab.timeline.logs import read_log
from redolab.timeline.phases import NO_NOTES
from redolab.units import format_duration, format_size

_STANDARD_INPUT = "-"
_HIDDEN = " (MySQL 5.7 and later write its lines only with log_error_verbosity=3)"
_ZSTD = b"(\xb5/\xfd"
_MOST = 20
"""Starts of which a log does not tell whether they recovered, that are shown: the last of them."""
_LABELS = {Phase.ROLLBACK: "rollback after ready"}


class _Unreadable(Exception):
    """A file cannot be read; nothing else than that, such as a reader of the output that went away."""


def report_timelines(console: Console, files: Sequence[Path], as_json: bool) -> bool:
    """Print the recoveries in every file; whether all could be read. What is wrong with one is said and the next is read."""
    all_read = True
    for path in files:
        try:
            if as_json:
                _write_json(path)
            else:
                _print(console, path)
        except _Unreadable as problem:
            sys.stderr.write(f"redolab: {path} cannot be read ({problem}): give the server's error log\n")
            all_read = False
    return all_read


@dataclass(slots=True)
class _Undecided:
    """The starts of a log of which it does not tell whether they recovered: the last of them, and how many there are."""

    count: int = 0
    last: deque[UndecidedStart] = field(default_factory=lambda: deque(maxlen=_MOST))

    def recoveries(self, path: Path) -> Iterator[Timeline]:
        """The recoveries in a file; the other starts are kept here."""
        try:
            for start in starts(read_log(sys.stdin.buffer if str(path) == _STANDARD_INPUT else path)):
                if isinstance(start, Timeline):
                    yield start
                else:
                    self.count += 1
                    self.last.append(start)
        except OSError as error:
            raise _Unreadable(error.strerror) from error


def _write_json(path: Path) -> None:
    """One line, written as the recoveries are found: a log can hold more of them than memory."""
    begin = f'{{"file":{msgspec.json.encode(str(path)).decode()},"recoveries":['
    before = begin
    others = _Undecided()
    try:
        for timeline in others.recoveries(path):
            sys.stdout.write(before + msgspec.json.encode(to_json(timeline)).decode())
            before = ","
    except _Unreadable:
        # What was found until then is a whole line too.
        sys.stdout.write("" if before is begin else "]}\n")
        raise
    last = msgspec.json.encode(list(others.last)).decode()
    sys.stdout.write(f'{begin if before is begin else ""}],"undecided":{{"count":{others.count},"last":{last}}}}}\n')


def _print(console: Console, path: Path) -> None:
    others = _Undecided()
    found = list(others.recoveries(path))
    if not found and not others.count:
        why = _why_none(path)
        console.print(f"{path}: no crash recovery in it{why}", markup=False, highlight=False, soft_wrap=True)
        return
    with console.capture() as capture:
        console.print(f"[bold]{escape(str(path))}[/]", highlight=False, soft_wrap=True, end="")
    # Nothing but the name has a style, and through the console these lines would take longer than reading the log.
    name = capture.get()
    for number, timeline in enumerate(found, 1):
        lines = "".join(f"  {line}\n" for line in _lines(timeline))
        console.file.write(f"{name}: recovery {number} of {len(found)}\n{lines}")
    if others.count:
        console.file.write(f"{name}: {_undecided(others)}")


def _undecided(others: _Undecided) -> str:
    these = "1 start" if others.count == 1 else f"{others.count:,} starts"
    last = f" (the last {len(others.last)} of them)" if others.count > len(others.last) else ""
    begin = f"whether {these} recovered, the log cannot tell{last}: {NO_NOTES}, log_error_verbosity=3 has them written"
    return "".join(f"{line}\n" for line in (begin, *map(_undecided_line, others.last), ""))


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
        ("start", timeline.start),
        ("ready", timeline.ready),
        ("ended", timeline.ended),
        ("to ready", None if timeline.seconds_to_ready is None else format_duration(timeline.seconds_to_ready)),
        ("in all", None if timeline.seconds is None else format_duration(timeline.seconds)),
        ("redo", None if redo is None else f"{format_size(redo)} (LSN {timeline.checkpoint_lsn} to {timeline.end_lsn})"),
        ("pages", timeline.pages),
        ("batches", timeline.batches),
        ("transactions to undo", timeline.transactions),
        ("transactions prepared", timeline.prepared),
        ("row operations to undo", timeline.rows),
        ("clock", f"{timeline.clock}, to {timeline.resolution:g} s"),
    ]  # fmt: skip
    facts = [f"{name:<25}{value}" for name, value in known if value not in (None, "")]
    return [
        *facts,
        *(line for time in timeline.phases for line in (_phase(time), *_parts(timeline, time.phase))),
        *(f"note: {note}" for note in timeline.notes),
        "",
    ]


def _phase(time: PhaseTime) -> str:
    label = _LABELS.get(time.phase, str(time.phase))
    return f"  {label:<23}" + (f"{time.seconds:.3f} s" if time.seconds is not None else f"–  ({time.why})")


def _parts(timeline: Timeline, phase: Phase) -> Iterator[str]:
    for part in timeline.parts:
        if part.phase is phase:
            yield f"    {f'of it {part.part}':<33}{part.seconds:.3f} s"


def _why_none(path: Path) -> str:
    """What may be the reason, as far as the beginning of a file tells."""
    if str(path) == _STANDARD_INPUT:
        return _HIDDEN
    beginning = b""
    with open_file(path) as file, suppress(*TORN):
        beginning = file.read(4096)
    if not beginning:
        return ": it is empty"
    if beginning.startswith(_ZSTD):
        return f": it is compressed, try zstdcat {path} | redolab timeline -"
    if b"\0" in beginning:
        return ": it is no text"
    return "" if b"MariaDB" in beginning or b"[Note]" in beginning else _HIDDEN
