"""A recovery in words and bars."""

from __future__ import annotations

from collections.abc import Iterator

from redolab.errorlog.kinds import Phase, StartKind
from redolab.errorlog.phases import NO_NOTES, REDO
from redolab.errorlog.timeline import PhaseTime, Timeline
from redolab.units import format_duration, format_size, noun

_REMEDY = "set log_error_verbosity = 3 before the next crash: MySQL 5.7 and later then log their phases"
_WIDTH = 40
"""Columns of the longest bar."""
_BAR = "█"
_WHOLE_SECONDS_FROM = 20.0
_LABELS = {Phase.ROLLBACK: "rollback after ready"}


def picture(timeline: Timeline) -> list[str]:
    """Return the lines of a recovery: the longest phase in words, what is known, and a bar for each phase."""
    server = " ".join(part for part in (timeline.source, timeline.family, timeline.version) if part)
    redo = timeline.redo_bytes
    lsns = f"LSN {timeline.checkpoint_lsn} to {timeline.end_lsn}"
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
        ("redo", None if redo is None else f"{format_size(redo)} ({lsns})"),
        ("pages", timeline.pages),
        ("batches", timeline.batches),
        ("transactions to undo", timeline.transactions),
        ("transactions prepared", timeline.prepared),
        ("row operations to undo", timeline.rows),
        ("clock", f"{timeline.clock}, to {timeline.resolution:g} s"),
    ]  # fmt: skip
    facts = [f"{name:<25}{value}" for name, value in known if value not in (None, "")]
    return [*_headline(timeline), *facts, *_bars(timeline), *(f"note: {note}" for note in timeline.notes), ""]


def _headline(timeline: Timeline) -> Iterator[str]:
    """Yield the phase that took longest, and the remedy where the log has no notes."""
    whole, rest = _whole(timeline)
    longest = max((time for time in timeline.phases if time.seconds), key=_seconds, default=None)
    untimed = [time for time in timeline.phases[:-1] if time.seconds is None]
    if untimed and rest > (_seconds(longest) if longest else 0.0):
        # The reason why a phase has no end is the end of the server, or of its log.
        at_hand = next((time.phase for time in untimed if timeline.ended.startswith(time.why or "-")), None)
        if at_hand is not None:
            yield f"{at_hand} was not over after {_of(rest, whole)}"
        else:
            names = ", ".join(time.phase for time in untimed[:-1])
            both = f"{names} and {untimed[-1].phase}" if names else str(untimed[-1].phase)
            yield f"{both} took {_of(rest, whole)}; the log does not tell more"
    elif longest is not None:
        reason = _reason(timeline, longest.phase)
        took = f"{_LABELS.get(longest.phase, longest.phase)} took {_of(_seconds(longest), whole)}"
        yield f"{took}: {reason}" if reason else took
    if any(time.why == NO_NOTES for time in timeline.phases):
        yield _REMEDY


def _seconds(time: PhaseTime) -> float:
    return time.seconds or 0.0


def _whole(timeline: Timeline) -> tuple[float, float]:
    """Return the seconds of a recovery as far as the log shows them, and how many belong to no timed phase."""
    timed = sum(map(_seconds, timeline.phases))
    whole = timeline.seconds or timeline.seconds_to_ready or timeline.seconds_at_least or 0.0
    return max(whole, timed), max(whole - timed, 0.0)


def _of(seconds: float, whole: float) -> str:
    places = 0 if whole >= _WHOLE_SECONDS_FROM else 1
    return f"{seconds:.{places}f} of {whole:.{places}f} s"


def _reason(timeline: Timeline, phase: Phase) -> str:
    """Return the main work of a phase, as far as the log shows it."""
    parts = [part for part in timeline.parts if part.phase is phase]
    main = max(parts, key=lambda part: part.seconds, default=None)
    if phase is Phase.APPLY and timeline.batches:
        advice = "; a pool of four times the redo needs one" if timeline.batches > 1 else ""
        return noun(timeline.batches, "batch", "batches") + advice
    if phase is Phase.SCAN and timeline.redo_bytes and (main is None or main.part == REDO):
        return f"{format_size(timeline.redo_bytes)} of redo"
    if phase is Phase.ROLLBACK and timeline.rows:
        return f"{noun(timeline.rows, 'row operation')} to undo"
    return "" if main is None else f"{main.part}, {main.seconds:.3f} s of it"


def _bars(timeline: Timeline) -> Iterator[str]:
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
