"""Parts of phases that the log times by lines of their own: what a phase spent on something else than its name says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from redolab.timeline.events import Event
from redolab.timeline.moments import LogMoment, between
from redolab.timeline.phase import Phase, PhaseTime
from redolab.timeline.stamps import MICROSECONDS, Clock
from redolab.timeline.start import Start

TABLESPACES = "tablespaces"
DOUBLEWRITE = "doublewrite"
REDO = "redo"
UNDO_RESURRECTION = "undo resurrection"
BINARY_LOG = "binary log and XA recovery"


class PhasePart(msgspec.Struct, frozen=True):
    """How long a part of a phase took."""

    phase: Phase
    part: str
    seconds: float


def parts(start: Start, clock: Clock, phases: Sequence[PhaseTime]) -> tuple[PhasePart, ...]:
    """The parts of its phases that `start` told, in their order, as `clock` times them; `phases`: all of them.

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


def _spans(start: Start) -> Iterator[tuple[Phase, str, LogMoment, LogMoment]]:
    marks = start.marks
    doublewrite = marks.get(Event.DOUBLEWRITE)
    begin, end = marks.get(Event.TABLESPACES), marks.get(Event.TABLESPACES_DONE) or doublewrite
    # To 5.6 the lines of both stand behind the one that shows the crash, and where there is no redo behind all of the scan.
    late = Phase.OPEN if start.had_no_redo else Phase.SCAN
    if begin and end and start.discovered:
        yield Phase.DISCOVER if end.number < start.discovered.number else late, TABLESPACES, begin, end
    if doublewrite and start.restored and start.discovered:
        yield late, DOUBLEWRITE, doublewrite, start.restored
    if undo := start.resurrected:
        # MySQL to 5.7 and MariaDB apply what is left of the redo after it, later MySQL before it.
        phase = Phase.SCAN if start.redo.batches > undo.batches else Phase.OPEN
        yield phase, UNDO_RESURRECTION, undo.begin, undo.end
    opened, begin, end = (marks.get(event) for event in (Event.OPENED, Event.BINARY_LOG, Event.XA_RECOVERED))
    if opened and begin and end and opened.number < begin.number < end.number:
        yield Phase.ACCEPT, BINARY_LOG, begin, end
