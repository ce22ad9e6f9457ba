"""Parts of phases that the log times by lines of their own: what a phase spent on something else than its name says."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from redolab.timeline.events import Event
from redolab.timeline.moments import LogMoment, between
from redolab.timeline.phase import Phase
from redolab.timeline.stamps import MICROSECONDS, Clock
from redolab.timeline.start import Start

TABLESPACES = "tablespaces"
UNDO_RESURRECTION = "undo resurrection"
BINARY_LOG = "binary log and XA recovery"


class PhasePart(msgspec.Struct, frozen=True):
    """How long a part of a phase took."""

    phase: Phase
    part: str
    seconds: float


def parts(start: Start, clock: Clock) -> tuple[PhasePart, ...]:
    """The parts of its phases that `start` told, in their order, as `clock` times them."""
    return tuple(
        PhasePart(phase, part, took / MICROSECONDS)
        for phase, part, begin, end in _spans(start)
        if isinstance(took := between(begin, end, clock), int)
    )


def _spans(start: Start) -> Iterator[tuple[Phase, str, LogMoment, LogMoment]]:
    marks = start.marks
    begin, end = marks.get(Event.TABLESPACES), marks.get(Event.TABLESPACES_DONE)
    if begin and end and start.discovered:
        yield Phase.DISCOVER if end.number < start.discovered.number else Phase.SCAN, TABLESPACES, begin, end
    if undo := start.resurrected:
        # MySQL to 5.7 and MariaDB apply what is left of the redo after it, later MySQL before it.
        phase = Phase.SCAN if start.redo.batches > undo.batches else Phase.OPEN
        yield phase, UNDO_RESURRECTION, undo.begin, undo.end
    opened, begin, end = (marks.get(event) for event in (Event.OPENED, Event.BINARY_LOG, Event.XA_RECOVERED))
    if opened and begin and end and opened.number < begin.number < end.number:
        yield Phase.ACCEPT, BINARY_LOG, begin, end
