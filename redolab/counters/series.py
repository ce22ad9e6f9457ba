"""Redo rates from consecutive samples: for each interval and segment, with gaps and restarts kept apart.

A segment is the time between two restarts: nothing is computed across a restart. A gap is an interval much longer than
the others: redo written in it counts for the whole, and its rate says nothing of a peak.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.servers.log_writer import redo_range
from redolab.servers.redo_counters import Sample

HOUR = 3600.0
_GAP = 2.5
"""Multiple of the usual interval."""
_ANOTHER = 60.0
"""Seconds by which an uptime may run ahead of times that are recorded to the minute."""
LSN_SLIPS = 1 << 20
"""Bytes by which an LSN may decrease: MariaDB reads it while it is written, and was once 41 KB behind under load."""
_UPTIME_STEP = 2.0
"""Seconds by which an uptime, counted in whole seconds, may lag behind the clock of the samples."""


@dataclass(frozen=True, slots=True)
class SegmentGrowth:
    """Growth of the counters between two samples of one segment; bytes, None for a missing counter."""

    seconds: float
    lsn: int | None
    os_log_written: int | None
    log_writes: int | None
    gap: bool = False

    def per_hour(self, grown: int | None) -> float | None:
        """Return a growth as a rate; None if it is unknown or no time passed."""
        return None if grown is None or self.seconds <= 0 else grown / self.seconds * HOUR

    @property
    def ratio(self) -> float | None:
        """Bytes of os_log_written for each byte of LSN."""
        return None if self.os_log_written is None or not self.lsn else self.os_log_written / self.lsn

    @property
    def redo_per_hour(self) -> tuple[float, float] | None:
        """Range of the true rate in bytes an hour: one number twice with an LSN, else what the model allows."""
        if (by_lsn := self.per_hour(self.lsn)) is not None:
            return by_lsn, by_lsn
        if self.os_log_written is None or self.seconds <= 0:
            return None
        least, most = redo_range(self.os_log_written, self.log_writes)
        return least / self.seconds * HOUR, most / self.seconds * HOUR


class Segment:
    """The samples between two restarts, added up as they come."""

    def __init__(self, first: Sample) -> None:
        self.first = first
        self.last = first
        self.samples = 1
        self.gaps: list[SegmentGrowth] = []
        self.peak: SegmentGrowth | None = None
        """The interval with the highest rate by LSN, or by os_log_written where there is no LSN."""
        self.highest: Sample | None = None if first.checkpoint_age is None else first
        """The sample with the largest checkpoint age, the last of several."""

    def add(self, sample: Sample, gap_after: float) -> SegmentGrowth:
        """Add the next sample. Return the growth since the one before."""
        interval = _growth(self.last, sample, gap_after)
        self.last = sample
        self.samples += 1
        if sample.checkpoint_age is not None and sample.checkpoint_age >= (self.peak_age or 0):
            self.highest = sample
        if interval.gap:
            self.gaps.append(interval)
        elif self.peak is None or _rate(interval) > _rate(self.peak):
            self.peak = interval
        return interval

    @property
    def peak_age(self) -> int | None:
        """Largest checkpoint age, in bytes."""
        return None if self.highest is None else self.highest.checkpoint_age

    @property
    def peak_fullness(self) -> float | None:
        """Largest checkpoint age as a share of the age at which statements waited then."""
        return None if self.highest is None else self.highest.fullness

    @property
    def whole(self) -> SegmentGrowth:
        """Growth from the first sample to the last, gaps included."""
        return _growth(self.first, self.last)


class Series:
    """Segments, built as samples come."""

    def __init__(self, gap_after: float) -> None:
        self.segments: list[Segment] = []
        self._gap_after = gap_after

    def add(self, sample: Sample) -> SegmentGrowth | None:
        """Add the next sample. Return the growth since the one before, or None for the first of a segment."""
        if self.segments and not _restarted(self.segments[-1].last, sample):
            return self.segments[-1].add(sample, self._gap_after)
        self.segments.append(Segment(sample))
        return None


def series_of(samples: Sequence[Sample]) -> Series:
    """Return the series of samples taken at some interval, whichever it was."""
    steps = [after.monotonic - before.monotonic for before, after in itertools.pairwise(samples)]
    usual = statistics.median(step for step in steps if step > 0) if any(step > 0 for step in steps) else 0.0
    series = Series(usual * _GAP)
    for sample in samples:
        series.add(sample)
    return series


def lives_of(samples: Sequence[Sample]) -> list[list[Sample]]:
    """Return the samples between restarts: those of a series' segments."""
    lives = list[list[Sample]]()
    for sample in samples:
        if not lives or _restarted(lives[-1][-1], sample):
            lives.append([])
        lives[-1].append(sample)
    return lives


def gap_after(every: float) -> float:
    """Return the seconds from which an interval is a gap, if samples are to come every `every` seconds."""
    return every * _GAP


def _restarted(before: Sample, after: Sample) -> bool:
    """Return True if the server was restarted, or is another, between two samples.

    Then a counter decreased that never does, or its uptime grew by less or by more than the time between them.
    """
    for counter, slips in (("lsn", LSN_SLIPS), ("os_log_written", 0), ("uptime", 0)):
        was, now = getattr(before, counter), getattr(after, counter)
        if was is not None and now is not None and now < was - slips:
            return True
    if after.monotonic < before.monotonic:
        return True
    if before.uptime is None or after.uptime is None:
        return False
    ahead = after.uptime - before.uptime - (after.monotonic - before.monotonic)
    return not -_UPTIME_STEP <= ahead <= _ANOTHER


def _growth(before: Sample, after: Sample, gap_after: float = math.inf) -> SegmentGrowth:
    def grown(counter: str) -> int | None:
        was, now = getattr(before, counter), getattr(after, counter)
        return None if was is None or now is None else now - was

    seconds = after.monotonic - before.monotonic
    return SegmentGrowth(seconds, grown("lsn"), grown("os_log_written"), grown("log_writes"), seconds > gap_after)


def _rate(growth: SegmentGrowth) -> float:
    grown = growth.lsn if growth.lsn is not None else growth.os_log_written
    return growth.per_hour(grown) or 0.0
