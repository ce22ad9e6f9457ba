"""Time left of a running recovery: as long as similar recoveries took from the same point, at this one's speed.

A method of analogues. Each recorded recovery is followed to the point most like the current one: share of the redo
read, share of it applied, reading or applying. Its seconds from there are scaled by the speed of the current recovery
so far, and weighted by the similarity of the two. The time left is the weighted median, its interval the weighted
quantiles.
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
"""Key for all kinds of servers together."""
POINTS = 50
"""Number of points at which a recorded recovery is kept, evenly over its time."""
_PER_MILLE = 1000.0
_TENTHS = 10.0
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

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


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
    """A recorded recovery at `POINTS` points: shares of its redo per mille, times in tenths of a second."""

    run: str
    server: str
    kind: str
    """Kind of server: their recoveries are similar, and their logs show the same progress."""
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
    """Pages of the current batch for each MiB of its redo; 0 if unknown."""
    all_reading: int
    """Reading time of the whole recovery, in tenths of a second; `all_applying` likewise."""
    all_applying: int

    @property
    def shows_reading(self) -> bool:
        """True if the reading of its redo was visible while it happened."""
        return any(0 < each < _PER_MILLE for each in self.read)


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

    def widened(self, by: Widening) -> TimeLeft:
        """Return it with an interval as wide as other recoveries needed."""
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


class Widening(msgspec.Struct, frozen=True, kw_only=True):
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


class Experience(msgspec.Struct, frozen=True, kw_only=True):
    """Recorded recoveries, and the widths of intervals that they need."""

    courses: tuple[Course, ...]
    widening: dict[Way, dict[str, Widening]]
    """Way → kind of server, or `ANY_KIND` → width that its intervals need."""
    held: dict[Way, dict[str, Held]]
    """Way → kind of server → number of its intervals that then held."""

    def widening_of(self, way: Way, kind: str | None) -> Widening | None:
        """Return the width that intervals need for a kind of server, or for any if it is unknown; None without data."""
        known = self.widening.get(way, {})
        return known.get(kind or ANY_KIND, known.get(ANY_KIND))

    def tracks(self, kind: str | None, *, shows_reading: bool = False) -> Tracks:
        """Return the recoveries of a kind of server, or all if they are too few or `kind` is None.

        `shows_reading`: only those whose redo was seen being read.
        """
        return tracks_of([each for each in self.courses if each.shows_reading or not shows_reading], kind)


@dataclass(frozen=True, slots=True)
class Tracks:
    """Courses in arrays, a row for each: shares, and seconds. A series at `POINTS` points has a column for each."""

    redo: Numbers
    """Bytes."""
    ready: Numbers
    read: Numbers
    applied: Numbers
    complete: Numbers
    reading: Numbers
    applying: Numbers
    unseen: Numbers
    in_batch: Numbers
    pages_a_mib: Numbers
    all_reading: Numbers
    all_applying: Numbers


def tracks_of(courses: Sequence[Course], kind: str | None) -> Tracks:
    """Return the recoveries of a kind of server, or all if they are too few or `kind` is None."""
    alike = [each for each in courses if each.kind == kind]
    chosen = alike if len(alike) >= _FEWEST else courses

    def numbers(name: str, unit: float = 1.0) -> Numbers:
        return np.array([getattr(each, name) for each in chosen], dtype=np.float64) / unit

    return Tracks(
        redo=numbers("redo"),
        ready=numbers("ready", _TENTHS),
        read=numbers("read", _PER_MILLE),
        applied=numbers("applied", _PER_MILLE),
        complete=numbers("complete", _PER_MILLE),
        reading=numbers("reading", _TENTHS),
        applying=numbers("applying", _TENTHS),
        unseen=numbers("unseen", _TENTHS),
        in_batch=numbers("in_batch", _TENTHS),
        pages_a_mib=numbers("pages_a_mib"),
        all_reading=numbers("all_reading", _TENTHS),
        all_applying=numbers("all_applying", _TENTHS),
    )


def time_left(done: Done, tracks: Tracks, widening: Widening | None = None) -> TimeLeft:
    """Return the time left by these recoveries, of which there is at least one."""
    seconds, weights = _as_they_went(done, tracks)
    order = np.argsort(seconds)
    cumulated = np.cumsum(weights[order]) / weights.sum()
    low, median, high = (
        max(_SHORTEST_S, float(seconds[order][min(len(order) - 1, int(np.searchsorted(cumulated, quantile)))]))
        for quantile in (_LOW, 0.5, _HIGH)
    )
    left = TimeLeft(
        seconds=median,
        low=low,
        high=high,
        least=float(seconds.min()),
        most=float(seconds.max()),
        share=done.elapsed / (done.elapsed + median),
        knows=done.knows,
    )
    return left if widening is None else left.widened(widening)


def widening_for(shown: Sequence[tuple[TimeLeft, float]], share: float = _HIGH - _LOW) -> Widening:
    """Return the width at which `share` of the intervals hold, from (expected before widening, true seconds left)."""
    off = [abs(math.log(true / left.seconds)) for left, true in shown]
    scores = [
        each / _reach(left.high if true > left.seconds else left.low, left.seconds)
        for each, (left, true) in zip(off, shown, strict=True)
    ]
    return Widening(factor=float(np.quantile(scores, share)), reach=float(np.quantile(off, share)))


def _reach(end: float, median: float) -> float:
    """Return the distance of an interval's end from the median, in logarithms, at least `_LEAST_REACH`."""
    return max(_LEAST_REACH, abs(math.log(end / median)))


def _as_they_went(done: Done, tracks: Tracks) -> tuple[Numbers, Numbers]:
    """Return the seconds left if it went on like each of those recoveries, and the weight of each."""
    every = np.arange(len(tracks.redo))
    total, weight = _total(done, tracks)
    share = np.minimum(1.0, done.read / total)
    shows = done.applied is not None
    applied = np.minimum(1.0, (done.complete if done.applied is None else done.applied) / total)
    is_applying = done.in_batch_s > 0
    waited = done.unseen_s if shows else done.in_batch_s
    theirs, waits = (tracks.applied, tracks.unseen) if shows else (tracks.complete, tracks.in_batch)
    apart = _APART * ((tracks.in_batch > 0) != is_applying)
    distance = np.abs(tracks.read - share[:, None]) + np.abs(theirs - applied[:, None]) + apart
    least = distance.min(axis=1)
    near = distance <= least[:, None] + _NEAR
    first = near.argmax(axis=1)

    at = tracks.reading[every, first] if is_applying else tracks.reading.mean(axis=1, where=near)
    has_speed = (share > _SEEN_SHARE) & (at > 0) & (done.reading_s > 0)
    reading_slower = _ratio(done.reading_s, at, has_speed)
    there, here = (tracks.applying - waits)[every, first], done.applying_s - waited
    has_applied = (applied > _SEEN_SHARE) & (there > _SEEN_S) & (here > _SEEN_S)
    applying_slower = np.where(has_applied, _ratio(here, there, has_applied), reading_slower)

    if is_applying:
        point, gap = _nearest(waits * applying_slower[:, None], near, waited)
    else:
        point, gap = _nearest(tracks.reading, near, done.reading_s)
        point, gap = np.where(has_speed, first, point), np.where(has_speed, 0.0, gap)
    elapsed = (point + 0.5) / tracks.read.shape[1] * tracks.ready
    weight = weight * _alike(gap, _WAIT) * np.exp(-least / _LIKE)
    by_age, weight_by_age = _by_age(done, tracks, elapsed, weight)

    read, reading, applying = (each[every, point] for each in (tracks.read, tracks.reading, tracks.applying))
    a_byte = _ratio(reading, read * tracks.redo, read > 0)
    speed = _ratio(done.reading_s / max(done.read, 1.0), a_byte, has_speed & (read > 0) & (reading > 0))
    # A byte takes longer to apply where it touches more pages.
    pages = tracks.pages_a_mib[every, point]
    denser = _ratio(done.pages_a_mib or 0.0, pages, (pages > 0) & bool(done.pages_a_mib))
    slower = np.where(has_applied, applying_slower, reading_slower * denser)
    turn = np.where(has_applied, _alike(np.log(slower / reading_slower), _TURN), _alike(np.log(denser), _DENSITY))
    reading_left = np.maximum(0.0, tracks.all_reading - reading)
    applying_left = np.maximum(0.0, tracks.all_applying - applying)
    rest = np.maximum(0.0, tracks.ready - elapsed - reading_left - applying_left)
    by_speed = reading_left * reading_slower + applying_left * slower + rest
    weight_by_speed = weight * _alike(np.log(speed), _SPEED) * turn + _NEVER_NONE
    return np.where(has_speed, by_speed, by_age), np.where(has_speed, weight_by_speed, weight_by_age)


def _by_age(done: Done, tracks: Tracks, elapsed: Numbers, weight: Numbers) -> tuple[Numbers, Numbers]:
    """Return seconds left and weights while no speed is known: by the time so far and the size of the redo."""
    if done.total is None:
        weight = weight * _alike(np.log((done.elapsed + 0.5) / (elapsed + 0.5)), _AGE)
        return tracks.ready - elapsed, weight + _NEVER_NONE
    larger = max(done.total, 1.0) / tracks.redo
    left = tracks.ready * larger - done.elapsed
    # A recovery with no time left would be ready by now.
    weight = np.where(left > 0, weight * _alike(np.log(larger), _SIZE), 0.0)
    return np.where(left > 0, left, _SHORTEST_S), weight + _NEVER_NONE


def _total(done: Done, tracks: Tracks) -> tuple[Numbers, Numbers]:
    """Return all redo, and weights.

    If the total is unknown, assume that of each recorded recovery, as far as possible here.
    """
    if done.total is not None:
        total = np.full_like(tracks.redo, max(done.total, done.read, 1.0))
        return total, np.ones_like(total)
    most = done.most or math.inf
    possible = (done.read <= tracks.redo) & (tracks.redo <= most)
    return np.maximum(np.minimum(tracks.redo, most), max(done.read, 1.0)), np.where(possible, 1.0, _UNLIKELY)


def _nearest(waits: Numbers, near: Flags, waited: float) -> tuple[npt.NDArray[np.intp], Numbers]:
    """Return the index of the near point with the most similar wait, and its distance in logarithms."""
    gaps = np.where(near, np.abs(np.log((waits + 0.3) / (waited + 0.3))), math.inf)
    return gaps.argmin(axis=1), gaps.min(axis=1)


def _ratio(numerator: Numbers | float, denominator: Numbers, is_known: Flags) -> Numbers:
    """Return the known ratios, and 1 for all others."""
    return np.divide(numerator, denominator, where=is_known, out=np.ones_like(denominator))


def _alike(difference: Numbers, deviation: float) -> Numbers:
    return np.exp(-(difference**2) / (2 * deviation**2))
