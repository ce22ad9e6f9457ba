"""The recoveries in error logs that people bring, as text and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape

from redolab.timeline import Phase, PhaseTime, Timeline, timelines, to_json
from redolab.timeline.logs import read_log
from redolab.units import format_duration, format_size

_STANDARD_INPUT = "-"
_HIDDEN = " (MySQL 5.7 and later write its lines only with log_error_verbosity=3)"
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd")
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
                _print(console, path, list(_recoveries(path)))
        except _Unreadable as problem:
            sys.stderr.write(f"redolab: {path} cannot be read ({problem}): give the server's error log\n")
            all_read = False
    return all_read


def _recoveries(path: Path) -> Iterator[Timeline]:
    try:
        yield from timelines(read_log(sys.stdin.buffer if str(path) == _STANDARD_INPUT else path))
    except OSError as error:
        raise _Unreadable(error.strerror) from error


def _write_json(path: Path) -> None:
    """One line, written as the recoveries are found: a log can hold more of them than memory."""
    begin = f'{{"file":{msgspec.json.encode(str(path)).decode()},"recoveries":['
    before = begin
    try:
        for timeline in _recoveries(path):
            sys.stdout.write(before + msgspec.json.encode(to_json(timeline)).decode())
            before = ","
    except _Unreadable:
        # What was found until then is a whole line too.
        sys.stdout.write("" if before is begin else "]}\n")
        raise
    sys.stdout.write(f"{begin if before is begin else ''}]}}\n")


def _print(console: Console, path: Path, found: Sequence[Timeline]) -> None:
    if not found:
        console.print(
            f"{path}: no crash recovery in it{_why_none(path)}", markup=False, highlight=False, soft_wrap=True
        )
        return
    with console.capture() as capture:
        console.print(f"[bold]{escape(str(path))}[/]", highlight=False, soft_wrap=True, end="")
    # Nothing but the name has a style, and through the console these lines would take longer than reading the log.
    name = capture.get()
    for number, timeline in enumerate(found, 1):
        lines = "".join(f"  {line}\n" for line in _lines(timeline))
        console.file.write(f"{name}: recovery {number} of {len(found)}\n{lines}")


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
        ("row operations to undo", timeline.rows),
        ("clock", f"{timeline.clock}, to {timeline.resolution:g} s"),
    ]  # fmt: skip
    facts = [f"{name:<25}{value}" for name, value in known if value not in (None, "")]
    return [
        *facts,
        *(_phase(time) for time in timeline.phases),
        *(f"note: {note}" for note in timeline.notes),
        "",
    ]


def _phase(time: PhaseTime) -> str:
    label = _LABELS.get(time.phase, str(time.phase))
    return f"  {label:<23}" + (f"{time.seconds:.3f} s" if time.seconds is not None else f"–  ({time.why})")


def _why_none(path: Path) -> str:
    """What may be the reason, as far as the beginning of a file tells."""
    if str(path) == _STANDARD_INPUT:
        return _HIDDEN
    with path.open("rb") as file:
        beginning = file.read(4096)
    if not beginning:
        return ": it is empty"
    if beginning.startswith(_COMPRESSED):
        return f": it is compressed, try zcat {path} | redolab timeline -"
    if b"\0" in beginning:
        return ": it is no text"
    return "" if b"MariaDB" in beginning else _HIDDEN
