"""Time left of a running recovery: that of similar recoveries from the same point, at the current one's speed.

A method of analogues. Each recorded recovery is followed to the point most like the current one: share of the redo
read, share of it applied, reading or applying. Its seconds from there are scaled by the speed of the current recovery
so far, and weighted by the similarity of the two. The time left is the weighted median, its interval the weighted
quantiles.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

import msgspec

ANY_KIND = ""
"""Key for all kinds of servers together."""
POINTS = 50
"""Number of points at which a recorded recovery is known, evenly over its time."""
_LOW, _HIGH = 0.1, 0.9
"""Quantiles between which eight in ten lie."""
_NEAR = 0.02
"""Smallest difference between shares that counts."""
_APART = 0.5
"""Distance between reading and applying, in shares."""
_LIKE = 0.05
"""Distance in shares at which the weight of a recovery falls by a factor of e."""
_WAIT = 0.3
_SPEED = 0.6
_TURN = 0.5
_AGE = 0.5
_DENSITY = 0.7
_SIZE = 0.7
"""Deviations of natural logarithms: of a wait without visible progress, of the seconds a byte, of applying to reading,
of the time so far, of pages a byte, of the size of the redo.
"""
_SEEN_SHARE = 0.03
_SEEN_S = 0.2
"""Share and seconds from which a speed is known."""
_UNLIKELY = 0.05
"""Weight of a recovery with less redo than this one has read, or more than its log holds."""
_NEVER_NONE = 1e-6
_SHORTEST_S = 0.3
_LEAST_REACH = 0.05
_FEWEST = 5
"""Fewest recoveries of such servers to rely on."""


class Knows(StrEnum):
    """Progress that can be seen of a recovery."""

    NOTHING = "nothing but its age"
    READING = "reading, of an unknown size"
    READING_OF = "reading, of a known size"
    APPLYING = "applying, no share of it"
    APPLYING_SHARE = "applying, a share of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Progress of a recovery; redo in bytes, times in seconds."""

    elapsed: float
    """Seconds since the server's start."""
    total: float | None = None
    """Bytes of all redo; None while unknown."""
    most: float | None = None
    """Bytes that the log files hold: no recovery has more redo."""
    read: float = 0.0
    applied: float | None = 0.0
    """Bytes of redo whose pages are up to date, as far as shown; None if shares of a batch are never shown."""
    complete: float = 0.0
    """Bytes of redo of the complete batches."""
    reading_s: float = 0.0
    applying_s: float = 0.0
    unseen_s: float = 0.0
    """Seconds since the last progress was shown, while pages are applied; 0 while redo is read."""
    in_batch_s: float = 0.0
    """Seconds since the batch began."""
    pages_a_mib: float | None = None
    """Pages of the current batch for each MiB of its redo; None if no line reports them."""

    @property
    def knows(self) -> Knows:
        """Progress that can be seen."""
        if self.in_batch_s > 0:
            return Knows.APPLYING_SHARE if self.applied is not None and self.applied > self.complete else Knows.APPLYING
        if self.total is not None:
            return Knows.READING_OF
        return Knows.READING if self.read > 0 else Knows.NOTHING


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded recovery at `POINTS` points: shares of its redo, times in seconds."""

    run: str
    server: str
    kind: str
    """Kind of server: their recoveries are similar, and their logs show the same progress."""
    redo: int
    """Bytes."""
    ready: float
    read: tuple[float, ...]
    applied: tuple[float, ...]
    complete: tuple[float, ...]
    reading: tuple[float, ...]
    applying: tuple[float, ...]
    unseen: tuple[float, ...]
    in_batch: tuple[float, ...]
    pages_a_mib: tuple[int, ...]
    """Pages of the current batch for each MiB of its redo; 0 if unknown."""
    all_reading: float
    """Reading time of the whole recovery; `all_applying` likewise."""
    all_applying: float

    @property
    def shows_reading(self) -> bool:
        """True if the reading of its redo was visible while it happened."""
        return any(0 < each < 1 for each in self.read)


class TimeLeft(msgspec.Struct, frozen=True, kw_only=True):
    """Time that a recovery will still take, in seconds."""

    seconds: float
    low: float
    high: float
    """Upper end of the interval from `low`, in which eight in ten are expected."""
    least: float
    most: float
    """Longest time by any known recovery; no interval reaches beyond it, nor below `least`."""
    share: float
    """Share of its whole time that has passed."""
    knows: Knows

    def widened(self, by: IntervalWidening) -> TimeLeft:
        """Return the same time with an interval as wide as other recoveries needed."""
        low = self.seconds * math.exp(-by.factor * _reach(self.low, self.seconds))
        high = self.seconds * math.exp(by.factor * _reach(self.high, self.seconds))
        lowest = min(self.least, self.low, self.seconds * math.exp(-by.reach))
        highest = max(self.most, self.high, self.seconds * math.exp(by.reach))
        return msgspec.structs.replace(self, low=max(low, lowest), high=min(high, highest))


class Way(StrEnum):
    """Sources by which a recovery is followed."""

    PROCESS = "log, redo log files and process"
    PROCESS_ALONE = "redo log files and process"
    FILES = "log and redo log files"
    LOG = "log"


class IntervalWidening(msgspec.Struct, frozen=True, kw_only=True):
    """Width that an interval needs to hold eight times in ten, in natural logarithms."""

    factor: float
    """Factor on the interval of the weighted quantiles."""
    reach: float
    """Distance from the expected time within which eight in ten true times were.

    No interval reaches beyond both this and all known recoveries.
    """


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Number of intervals that held, each made from recoveries of other runs alone; several for each recovery."""

    recoveries: int
    asked: int
    inside: int


class RecordedRecoveries(msgspec.Struct, frozen=True, kw_only=True):
    """Recorded recoveries, and the widths of intervals that they need."""

    courses: tuple[Course, ...]
    widening: dict[Way, dict[str, IntervalWidening]]
    """Way → kind of server, or `ANY_KIND` → width that its intervals need."""
    held: dict[Way, dict[str, Held]]
    """Way → kind of server → number of its intervals that then held."""

    def widening_of(self, way: Way, kind: str | None) -> IntervalWidening | None:
        """Return the width that intervals need for a kind of server, or for any if it is unknown; None without data."""
        known = self.widening.get(way, {})
        return known.get(kind or ANY_KIND, known.get(ANY_KIND))

    def courses_of(self, kind: str | None, *, shows_reading: bool = False) -> Sequence[Course]:
        """Return the recoveries of a kind of server, or all if they are too few or `kind` is None.

        `shows_reading`: only those whose redo was seen being read.
        """
        courses = [each for each in self.courses if not shows_reading or each.shows_reading]
        of_kind = [each for each in courses if each.kind == kind]
        return of_kind if len(of_kind) >= _FEWEST else courses


def time_left(done: Done, courses: Sequence[Course], widening: IntervalWidening | None = None) -> TimeLeft:
    """Return the time left by these recoveries, of which there is at least one."""
    known = sorted(_as_it_went(done, course) for course in courses)
    seconds = [each for each, _ in known]
    cumulated = list(accumulate(weight for _, weight in known))
    low, median, high = (
        max(_SHORTEST_S, seconds[min(len(seconds) - 1, bisect_left(cumulated, quantile * cumulated[-1]))])
        for quantile in (_LOW, 0.5, _HIGH)
    )
    left = TimeLeft(
        seconds=median,
        low=low,
        high=high,
        least=seconds[0],
        most=seconds[-1],
        share=done.elapsed / (done.elapsed + median),
        knows=done.knows,
    )
    return left if widening is None else left.widened(widening)


def widening_for(predicted: Sequence[tuple[TimeLeft, float]]) -> IntervalWidening:
    """Return the width at which eight in ten intervals hold, from (expected before widening, true seconds left)."""
    errors = [abs(math.log(true / left.seconds)) for left, true in predicted]
    scores = [
        error / _reach(left.high if true > left.seconds else left.low, left.seconds)
        for error, (left, true) in zip(errors, predicted, strict=True)
    ]
    return IntervalWidening(factor=_quantile(scores, _HIGH - _LOW), reach=_quantile(errors, _HIGH - _LOW))


def _quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile, between two values in proportion."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    before = math.floor(at)
    after = min(before + 1, len(ordered) - 1)
    return ordered[before] + (at - before) * (ordered[after] - ordered[before])


def _reach(end: float, median: float) -> float:
    """Return the distance of an interval's end from the median, in logarithms, at least `_LEAST_REACH`."""
    return max(_LEAST_REACH, abs(math.log(end / median)))


def _as_it_went(done: Done, course: Course) -> tuple[float, float]:
    """Return the seconds left if it went on like that recovery, and the weight of this."""
    total, weight = _total(done, course)
    share = min(1.0, done.read / total)
    shows = done.applied is not None
    applied = min(1.0, (done.complete if done.applied is None else done.applied) / total)
    is_applying = done.in_batch_s > 0
    waited = done.unseen_s if shows else done.in_batch_s
    theirs, waits = (course.applied, course.unseen) if shows else (course.complete, course.in_batch)
    distance = [
        abs(read - share) + abs(their - applied) + (0.0 if (in_batch > 0) == is_applying else _APART)
        for read, their, in_batch in zip(course.read, theirs, course.in_batch, strict=True)
    ]
    least = min(distance)
    near = [point for point, each in enumerate(distance) if each <= least + _NEAR]
    first = near[0]

    at = course.reading[first] if is_applying else math.fsum(course.reading[point] for point in near) / len(near)
    has_speed = share > _SEEN_SHARE and at > 0 and done.reading_s > 0
    reading_slower = done.reading_s / at if has_speed else 1.0
    there, here = course.applying[first] - waits[first], done.applying_s - waited
    has_applied = applied > _SEEN_SHARE and there > _SEEN_S and here > _SEEN_S
    applying_slower = here / there if has_applied else reading_slower

    if is_applying:
        gap, point = min((_gap(waits[each] * applying_slower, waited), each) for each in near)
    elif has_speed:
        gap, point = 0.0, first
    else:
        gap, point = min((_gap(course.reading[each], done.reading_s), each) for each in near)
    elapsed = (point + 0.5) / len(course.read) * course.ready
    weight *= _alike(gap, _WAIT) * math.exp(-least / _LIKE)
    if not has_speed:
        return _by_age(done, course, elapsed, weight)

    read, reading, applying = course.read[point], course.reading[point], course.applying[point]
    if read > 0 and reading > 0:
        weight *= _alike(math.log(done.reading_s / max(done.read, 1.0) / (reading / (read * course.redo))), _SPEED)
    # A byte takes longer to apply where it touches more pages.
    pages = course.pages_a_mib[point]
    denser = done.pages_a_mib / pages if done.pages_a_mib and pages > 0 else 1.0
    if has_applied:
        slower, turn = applying_slower, _alike(math.log(applying_slower / reading_slower), _TURN)
    else:
        slower, turn = reading_slower * denser, _alike(math.log(denser), _DENSITY)
    reading_left = max(0.0, course.all_reading - reading)
    applying_left = max(0.0, course.all_applying - applying)
    rest = max(0.0, course.ready - elapsed - reading_left - applying_left)
    return reading_left * reading_slower + applying_left * slower + rest, weight * turn + _NEVER_NONE


def _by_age(done: Done, course: Course, elapsed: float, weight: float) -> tuple[float, float]:
    """Return seconds left and weight while no speed is known: by the time so far and the size of the redo."""
    if done.total is None:
        weight *= _alike(math.log((done.elapsed + 0.5) / (elapsed + 0.5)), _AGE)
        return course.ready - elapsed, weight + _NEVER_NONE
    larger = max(done.total, 1.0) / course.redo
    left = course.ready * larger - done.elapsed
    if left <= 0:
        # A recovery with no time left would be ready by now.
        return _SHORTEST_S, _NEVER_NONE
    return left, weight * _alike(math.log(larger), _SIZE) + _NEVER_NONE


def _total(done: Done, course: Course) -> tuple[float, float]:
    """Return the bytes of all redo, else those of the recorded recovery as far as possible here; and a weight."""
    if done.total is not None:
        return max(done.total, done.read, 1.0), 1.0
    most = done.most or math.inf
    is_possible = done.read <= course.redo <= most
    return max(min(course.redo, most), done.read, 1.0), 1.0 if is_possible else _UNLIKELY


def _gap(wait: float, waited: float) -> float:
    """Return the distance of two waits in logarithms."""
    return abs(math.log((wait + 0.3) / (waited + 0.3)))


def _alike(difference: float, deviation: float) -> float:
    return math.exp(-(difference**2) / (2 * deviation**2))
