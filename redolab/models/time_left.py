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
"""Moments at which a recorded recovery is kept, evenly over its time."""
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
Flags = npt.NDArray[np.bool_]


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

    def tracks(self, kind: str | None, *, shows_reading: bool = False) -> Tracks:
        """Return the recoveries of such servers, or all where they are too few, or none is named.

        `shows_reading`: only those whose redo was seen being read.
        """
        return tracks_of([each for each in self.courses if each.shows_reading or not shows_reading], kind)


@dataclass(frozen=True, slots=True)
class Tracks:
    """Courses in arrays, a row for each: shares, and seconds. What is kept at `POINTS` moments has a column for each."""

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
    """Return the recoveries of such servers, or all where they are too few, or none is named."""
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


def _as_they_went(done: Done, tracks: Tracks) -> tuple[Numbers, Numbers]:
    """Return the seconds left if it went on as each of those recoveries did, and how much each counts."""
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
    """Return seconds left and weights where no speed is seen yet: by how long it has been at it, and by how much redo it has."""
    if done.total is None:
        weight = weight * _alike(np.log((done.elapsed + 0.5) / (elapsed + 0.5)), _AGE)
        return tracks.ready - elapsed, weight + _NEVER_NONE
    larger = max(done.total, 1.0) / tracks.redo
    left = tracks.ready * larger - done.elapsed
    # Where none is left, that one would be ready by now.
    weight = np.where(left > 0, weight * _alike(np.log(larger), _SIZE), 0.0)
    return np.where(left > 0, left, _SHORTEST_S), weight + _NEVER_NONE


def _total(done: Done, tracks: Tracks) -> tuple[Numbers, Numbers]:
    """Return all redo, and weights: where it is not known, it is as much as those recoveries had, or could have here."""
    if done.total is not None:
        total = np.full_like(tracks.redo, max(done.total, done.read, 1.0))
        return total, np.ones_like(total)
    most = done.most or math.inf
    possible = (done.read <= tracks.redo) & (tracks.redo <= most)
    return np.maximum(np.minimum(tracks.redo, most), max(done.read, 1.0)), np.where(possible, 1.0, _UNLIKELY)


def _nearest(waits: Numbers, near: Flags, waited: float) -> tuple[npt.NDArray[np.intp], Numbers]:
    """Return which of the near points had waited as long, and how far that is from it, in logarithms."""
    gaps = np.where(near, np.abs(np.log((waits + 0.3) / (waited + 0.3))), math.inf)
    return gaps.argmin(axis=1), gaps.min(axis=1)


def _ratio(numerator: Numbers | float, denominator: Numbers, is_known: Flags) -> Numbers:
    """Return the ratios that are known, and 1 for all others."""
    return np.divide(numerator, denominator, where=is_known, out=np.ones_like(denominator))


def _alike(difference: Numbers, deviation: float) -> Numbers:
    return np.exp(-(difference**2) / (2 * deviation**2))
