"""The busiest hour in samples: the hour in which the most redo was written, by LSN."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from redolab.counters.series import HOUR, gap_after, lives_of
from redolab.grouping import by_key
from redolab.servers.log_writer import redo_range
from redolab.servers.redo_counters import Sample

_USUAL_SHARE = 0.5
_DAY = 24 * HOUR
_WHOLE_DAY = 0.9
"""Share of a day that must be sampled for a whole day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busiest:
    """The hour, or the whole time of shorter samples, in which the most redo was written."""

    redo_per_hour: float
    """Bytes of LSN an hour; without LSNs in the samples, the most that os_log_written allows."""
    by_lsn: bool
    os_log_written_per_hour: float | None
    """Bytes of os_log_written an hour, in the same hour."""
    seconds: float
    """Seconds of the window."""
    sampled: float
    """Seconds that the samples cover, restarts left out."""
    in_gaps: float
    """Seconds of the window without samples."""
    since_start_per_hour: float | None
    """Bytes of os_log_written an hour since the server's start, at the last sample with an uptime."""


def busiest_hour(samples: Sequence[Sample]) -> Busiest | None:
    """Return the busiest hour of samples in order of time; None without two samples between restarts.

    Redo between two samples counts as written evenly.
    """
    every = lives_of(samples)
    by_lsn_lives = _with_counter(every, "lsn")
    by_lsn = bool(by_lsn_lives)
    counter = "lsn" if by_lsn else "os_log_written"
    lives = by_lsn_lives or _with_counter(every, counter)
    if not lives:
        return None
    windows = [(life, *_window(life, counter)) for life in lives]
    # A short time between restarts with a high rate must not beat a whole known hour.
    longest = max(end - start for _, start, end, _ in windows)
    life, start, end, rate = max(
        (each for each in windows if each[2] - each[1] >= longest * _USUAL_SHARE), key=lambda each: each[3]
    )
    written = _between(life, "os_log_written", start, end)
    if not by_lsn:
        rate = redo_range(rate, _per_hour(_between(life, "log_writes", start, end), end - start))[1]
    return Busiest(
        redo_per_hour=rate,
        by_lsn=by_lsn,
        os_log_written_per_hour=_per_hour(written, end - start),
        seconds=end - start,
        sampled=sum(each[-1].monotonic - each[0].monotonic for each in lives),
        in_gaps=_gaps(life, start, end),
        since_start_per_hour=_since_start(samples),
    )


def busiest_hours_of_days(samples: Sequence[Sample]) -> list[float]:
    """Return the redo of the busiest hour of each whole day from the first sample on, in bytes an hour by LSN.

    A day with samples for less than `_WHOLE_DAY` is left out: its peak may be missing.
    """
    days = by_key(zip(samples, _elapsed(samples), strict=True), lambda each: int(each[1] // _DAY))
    found = [busiest_hour([sample for sample, _ in of_day]) for of_day in days.values()]
    return [
        each.redo_per_hour
        for each in found
        if each is not None and each.by_lsn and each.redo_per_hour > 0 and each.sampled >= _WHOLE_DAY * _DAY
    ]


def _elapsed(samples: Sequence[Sample]) -> list[float]:
    """Return the seconds from the first sample to each. Where a restart sets the clock back, as it does an uptime, none pass."""
    steps = itertools.pairwise([*samples[:1], *samples])
    return list(itertools.accumulate(max(0.0, after.monotonic - before.monotonic) for before, after in steps))


def _window(life: Sequence[Sample], counter: str) -> tuple[float, float, float]:
    """Return start, end and bytes an hour of the busiest hour, or of the whole time if it is shorter."""
    times, values = _known_values(life, counter)
    length = min(HOUR, life[-1].monotonic - life[0].monotonic)
    # The busiest window begins or ends at a sample.
    starts = np.concatenate([times, times - length])
    starts = starts[(starts >= life[0].monotonic) & (starts + length <= life[-1].monotonic)]
    starts = starts if len(starts) else np.array([life[0].monotonic])
    grown = np.interp(starts + length, times, values) - np.interp(starts, times, values)
    best = int(grown.argmax())
    return float(starts[best]), float(starts[best] + length), float(grown[best]) / length * HOUR


def _with_counter(lives: Sequence[Sequence[Sample]], counter: str) -> list[list[Sample]]:
    """Return the samples between restarts that have the counter, where it spans some time.

    The growth outside these samples is not known.
    """
    known = [[each for each in life if getattr(each, counter) is not None] for life in lives]
    return [life for life in known if life and life[-1].monotonic > life[0].monotonic]


def _between(life: Sequence[Sample], counter: str, start: float, end: float) -> float | None:
    """Return the growth of a counter between two times; None if its samples do not cover them."""
    times, values = _known_values(life, counter)
    if len(times) < 2 or times[0] > start or times[-1] < end:
        return None
    at_start, at_end = np.interp([start, end], times, values)
    return float(at_end - at_start)


def _known_values(life: Sequence[Sample], counter: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the times at which a counter is known, and its values."""
    known = [(each.monotonic, value) for each in life if (value := getattr(each, counter)) is not None]
    both = np.array(known, dtype=np.float64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _gaps(life: Sequence[Sample], start: float, end: float) -> float:
    too_long = gap_after(
        statistics.median_high(after.monotonic - before.monotonic for before, after in itertools.pairwise(life))
    )
    return sum(
        min(after.monotonic, end) - max(before.monotonic, start)
        for before, after in itertools.pairwise(life)
        if after.monotonic - before.monotonic > too_long and after.monotonic > start and before.monotonic < end
    )


def _since_start(samples: Sequence[Sample]) -> float | None:
    known = [each for each in samples if each.uptime and each.os_log_written is not None]
    return None if not known else _per_hour(known[-1].os_log_written, float(known[-1].uptime or 0))


def _per_hour(grown: float | None, seconds: float) -> float | None:
    return None if grown is None or seconds <= 0 else grown / seconds * HOUR
