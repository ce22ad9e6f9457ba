"""How long a recovery will still take: as long as recoveries of such servers took that had come as far, at this one's speed.

A method of analogues: each recovery that was recorded is followed to the point that is most like the one at hand (share of the redo
read, share of it applied, reading or applying), its seconds from there are scaled by how fast this one has been up to here, and it
counts by how much alike the two have been. The time left is the weighted median, its interval the weighted quantiles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec
import numpy as np
import numpy.typing as npt

ANY_KIND = ""
"""Stands for all kinds of servers together."""
POINTS = 50
"""At which a recovery that was recorded is kept, evenly over its time."""
_PER_MILLE = 1000.0
_TENTHS = 10.0
_LOW, _HIGH = 0.1, 0.9
"""Quantiles between which eight in ten lie."""
_NEAR = 0.02
"""Shares that are told apart no more than this."""
_APART = 0.5
"""How far reading is from applying, in shares."""
_LIKE = 0.05
"""A distance in shares at which a recovery counts e times less."""
_WAIT = 0.3
_SPEED = 0.6
_TURN = 0.5
_AGE = 0.5
_DENSITY = 0.7
_SIZE = 0.7
"""Deviations of natural logarithms: of a wait that shows nothing, of the seconds a byte, of applying to reading, of the time so far,
of pages a byte, of the size of the redo."""
_SEEN_SHARE = 0.03
_SEEN_S = 0.2
"""From there on a speed is one."""
_UNLIKELY = 0.05
"""Weight of one that had less redo than this one has read, or more than its log holds."""
_NEVER_NONE = 1e-6
_SHORTEST_S = 0.3
_LEAST_REACH = 0.05
_FEWEST = 5
"""Recoveries of such servers from which something is known."""

Numbers = npt.NDArray[np.float64]


class Knows(StrEnum):
    """What can be seen of how far a recovery has come."""

    NOTHING = "nothing but its age"
    READING = "reading, of an unknown size"
    READING_OF = "reading, of a known size"
    APPLYING = "applying, no share of it"
    APPLYING_SHARE = "applying, a share of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How far a recovery has come; redo in bytes, times in seconds."""

    elapsed: float
    """Since the server's start."""
    total: float | None = None
    """All redo; None while that is not known."""
    most: float | None = None
    """What the log files hold: no recovery has more redo."""
    read: float = 0.0
    applied: float | None = 0.0
    """Redo whose pages are up to date, as far as is shown; None where nothing shows shares of a batch."""
    complete: float = 0.0
    """Redo of the batches that are complete."""
    reading_s: float = 0.0
    applying_s: float = 0.0
    unseen_s: float = 0.0
    """Since a share was shown last, while pages are applied; 0 while redo is read."""
    in_batch_s: float = 0.0
    """Since the batch began."""
    pages_a_mib: float | None = None
    """Pages of the batch at hand, for each MiB of its redo; None where no line says how many."""

    @property
    def knows(self) -> Knows:
        """What can be seen."""
        if self.in_batch_s > 0:
            return Knows.APPLYING_SHARE if self.applied is not None and self.applied > self.complete else Knows.APPLYING
        if self.total is not None:
            return Knows.READING_OF
        return Knows.READING if self.read > 0 else Knows.NOTHING


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """A recovery that was recorded, at `POINTS` moments: shares of its redo per mille, times in tenths of a second."""

    run: str
    server: str
    kind: str
    """Of servers whose recoveries go alike, and whose logs tell as much of them."""
    redo: int
    """Bytes."""
    ready: int
    read: tuple[int, ...]
    applied: tuple[int, ...]
    complete: tuple[int, ...]
    reading: tuple[int, ...]
    applying: tuple[int, ...]
    unseen: tuple[int, ...]
    in_batch: tuple[int, ...]
    pages_a_mib: tuple[int, ...]
    """Of the batch at hand; 0 where that is not known."""
    all_reading: int
    """Of the whole recovery, as `all_applying`."""
    all_applying: int

    @property
    def shows_reading(self) -> bool:
        """Whether it was seen how far its redo was read, while it was."""
        return any(0 < each < _PER_MILLE for each in self.read)


class TimeLeft(msgspec.Struct, frozen=True, kw_only=True):
    """How long a recovery will still take, in seconds."""

    seconds: float
    low: float
    high: float
    """Between these eight in ten are expected."""
    least: float
    most: float
    """By any of the recoveries that are known: no interval reaches beyond."""
    share: float
    """Of all its time, that has passed."""
    knows: Knows

    def widened(self, by: Widening) -> TimeLeft:
        """Return it with an interval that reaches as far as held for others."""
        low = self.seconds * math.exp(-by.factor * _reach(self.low, self.seconds))
        high = self.seconds * math.exp(by.factor * _reach(self.high, self.seconds))
        lowest = min(self.least, self.low, self.seconds * math.exp(-by.reach))
        highest = max(self.most, self.high, self.seconds * math.exp(by.reach))
        return msgspec.structs.replace(self, low=max(low, lowest), high=min(high, highest))


class Way(StrEnum):
    """What a recovery is followed by."""

    PROCESS = "log, redo log files and process"
    PROCESS_ALONE = "redo log files and process"
    FILES = "log and redo log files"
    LOG = "log"


class Widening(msgspec.Struct, frozen=True, kw_only=True):
    """How far an interval must reach so that it holds eight times in ten, in natural logarithms."""

    factor: float
    """Times as far as the interval of the weighted quantiles."""
    reach: float
    """How far from the expected time left eight in ten true ones were: no interval reaches beyond this and all known recoveries."""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """How often intervals held, each made from recoveries of other runs alone; asked several times of each recovery."""

    recoveries: int
    asked: int
    inside: int


class Experience(msgspec.Struct, frozen=True, kw_only=True):
    """What recoveries before tell of others."""

    courses: tuple[Course, ...]
    widening: dict[Way, dict[str, Widening]]
    """Way → kind of server, or `ANY_KIND` → how far its intervals must reach."""
    held: dict[Way, dict[str, Held]]
    """Way → kind of server → how often its intervals then held."""

    def widening_of(self, way: Way, kind: str | None) -> Widening | None:
        """Return how far intervals must reach for that kind of server, or for any where it is unknown; None if nothing tells."""
        known = self.widening.get(way, {})
        return known.get(kind or ANY_KIND, known.get(ANY_KIND))

    def tracks(self, kind: str | None, *, shows_reading: bool = False) -> list[Track]:
        """The recoveries of such servers, or all where they are too few, or none is named.

        `shows_reading`: only those whose redo was seen being read.
        """
        return tracks_of([each for each in self.courses if each.shows_reading or not shows_reading], kind)


@dataclass(frozen=True, slots=True)
class Track:
    """A course in arrays over its points: shares, and seconds."""

    redo: float
    ready: float
    read: Numbers
    applied: Numbers
    complete: Numbers
    reading: Numbers
    applying: Numbers
    unseen: Numbers
    in_batch: Numbers
    pages_a_mib: Numbers
    all_reading: float
    all_applying: float


def tracks_of(courses: Sequence[Course], kind: str | None) -> list[Track]:
    """The recoveries of such servers, or all where they are too few, or none is named."""
    alike = [each for each in courses if each.kind == kind]
    return [_track(each) for each in (alike if len(alike) >= _FEWEST else courses)]


def time_left(done: Done, tracks: Sequence[Track], widening: Widening | None = None) -> TimeLeft:
    """Return the time left by these recoveries, of which there is at least one."""
    expected = [_as_that_went(done, each) for each in tracks]
    seconds = np.array([each.seconds for each in expected])
    weights = np.array([each.weight for each in expected])
    order = np.argsort(seconds)
    cumulated = np.cumsum(weights[order]) / weights.sum()
    low, median, high = (
        max(_SHORTEST_S, float(seconds[order][min(len(order) - 1, int(np.searchsorted(cumulated, quantile)))]))
        for quantile in (_LOW, 0.5, _HIGH)
    )
    share = done.elapsed / (done.elapsed + median)
    left = TimeLeft(
        seconds=median,
        low=low,
        high=high,
        least=float(seconds.min()),
        most=float(seconds.max()),
        share=share,
        knows=done.knows,
    )
    return left if widening is None else left.widened(widening)


def widening_for(shown: Sequence[tuple[TimeLeft, float]], share: float = _HIGH - _LOW) -> Widening:
    """Return how far intervals must reach, so that this share of (expected, not widened; true seconds left) is inside."""
    off = [abs(math.log(true / left.seconds)) for left, true in shown]
    scores = [
        each / _reach(left.high if true > left.seconds else left.low, left.seconds)
        for each, (left, true) in zip(off, shown, strict=True)
    ]
    return Widening(factor=float(np.quantile(scores, share)), reach=float(np.quantile(off, share)))


def _reach(end: float, median: float) -> float:
    """How far an end of an interval is from the median, in logarithms; one that lies on it is moved off."""
    return max(_LEAST_REACH, abs(math.log(end / median)))


@dataclass(frozen=True, slots=True)
class _Expected:
    seconds: float
    weight: float


def _as_that_went(done: Done, track: Track) -> _Expected:
    """What would be left if it went on as that recovery did, and how much that one counts."""
    total, weight = _total(done, track)
    share = min(1.0, done.read / total)
    shows = done.applied is not None
    applied = min(1.0, (done.complete if done.applied is None else done.applied) / total)
    is_applying = done.in_batch_s > 0
    waited = done.unseen_s if shows else done.in_batch_s
    theirs, waits = (track.applied, track.unseen) if shows else (track.complete, track.in_batch)
    apart = _APART * ((track.in_batch > 0) != is_applying)
    distance = np.abs(track.read - share) + np.abs(theirs - applied) + apart
    least = float(distance.min())
    near = np.flatnonzero(distance <= least + _NEAR)
    first = int(near[0])

    reading_slower = applying_slower = None
    at = float(track.reading[first] if is_applying else track.reading[near].mean())
    if share > _SEEN_SHARE and at > 0 and done.reading_s > 0:
        reading_slower = done.reading_s / at
    there, here = float(track.applying[first] - waits[first]), done.applying_s - waited
    if applied > _SEEN_SHARE and there > _SEEN_S and here > _SEEN_S:
        applying_slower = here / there

    point, gap = first, 0.0
    if is_applying:
        point, gap = _nearest(waits, near, applying_slower or reading_slower or 1.0, waited)
    elif reading_slower is None:
        point, gap = _nearest(track.reading, near, 1.0, done.reading_s)
    elapsed = (point + 0.5) / POINTS * track.ready
    weight *= _alike(gap, _WAIT) * math.exp(-least / _LIKE)
    if reading_slower is None:
        return _by_age(done, track, elapsed, weight)
    if track.read[point] > 0 and track.reading[point] > 0:
        a_byte = float(track.reading[point] / (track.read[point] * track.redo))
        weight *= _alike(math.log(done.reading_s / max(done.read, 1.0) / a_byte), _SPEED)
    slower = applying_slower
    if slower is not None:
        weight *= _alike(math.log(slower / reading_slower), _TURN)
    else:
        denser = _denser(done, float(track.pages_a_mib[point]))
        weight *= _alike(math.log(denser), _DENSITY)
        slower = reading_slower * denser
    reading = max(0.0, track.all_reading - float(track.reading[point]))
    applying = max(0.0, track.all_applying - float(track.applying[point]))
    rest = max(0.0, track.ready - elapsed - reading - applying)
    return _Expected(reading * reading_slower + applying * slower + rest, weight + _NEVER_NONE)


def _by_age(done: Done, track: Track, elapsed: float, weight: float) -> _Expected:
    """Where no speed is seen yet: by how long it has been at it, and by how much redo it has."""
    if done.total is None:
        weight *= _alike(math.log((done.elapsed + 0.5) / (elapsed + 0.5)), _AGE)
        return _Expected(track.ready - elapsed, weight + _NEVER_NONE)
    larger = max(done.total, 1.0) / track.redo
    whole = track.ready * larger
    weight *= _alike(math.log(larger), _SIZE)
    if whole <= done.elapsed:
        # That one would be ready by now.
        return _Expected(_SHORTEST_S, _NEVER_NONE)
    return _Expected(whole - done.elapsed, weight + _NEVER_NONE)


def _denser(done: Done, pages_a_mib: float) -> float:
    """How many times as many pages a byte of redo touches here; 1 where either is not known."""
    if not done.pages_a_mib or pages_a_mib <= 0:
        return 1.0
    return done.pages_a_mib / pages_a_mib


def _total(done: Done, track: Track) -> tuple[float, float]:
    """All redo, and the weight: where it is not known, it is as much as that recovery had, or could have here."""
    if done.total is not None:
        return max(done.total, done.read, 1.0), 1.0
    possible = done.read <= track.redo <= (done.most or math.inf)
    return max(min(track.redo, done.most or math.inf), done.read, 1.0), 1.0 if possible else _UNLIKELY


def _nearest(waits: Numbers, near: npt.NDArray[np.intp], scale: float, waited: float) -> tuple[int, float]:
    """Which of those points had waited as long, and how far that is from it, in logarithms."""
    gaps = np.abs(np.log((waits[near] * scale + 0.3) / (waited + 0.3)))
    best = int(np.argmin(gaps))
    return int(near[best]), float(gaps[best])


def _alike(difference: float, deviation: float) -> float:
    return math.exp(-(difference**2) / (2 * deviation**2))


def _track(course: Course) -> Track:
    def shares(values: Sequence[int]) -> Numbers:
        return np.asarray(values, dtype=np.float64) / _PER_MILLE

    def seconds(values: Sequence[int]) -> Numbers:
        return np.asarray(values, dtype=np.float64) / _TENTHS

    return Track(
        redo=float(course.redo),
        ready=course.ready / _TENTHS,
        read=shares(course.read),
        applied=shares(course.applied),
        complete=shares(course.complete),
        reading=seconds(course.reading),
        applying=seconds(course.applying),
        unseen=seconds(course.unseen),
        in_batch=seconds(course.in_batch),
        pages_a_mib=np.asarray(course.pages_a_mib, dtype=np.float64),
        all_reading=course.all_reading / _TENTHS,
        all_applying=course.all_applying / _TENTHS,
    )
