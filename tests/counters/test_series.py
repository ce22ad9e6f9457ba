"""Rates, gaps and restarts, from samples as they come."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolab.counters.series import HOUR, Series, lives_of, series_of
from redolab.servers.redo_counters import Sample


def sample(at: float, **counters: int) -> Sample:
    return Sample(monotonic=at, wall=1_700_000_000 + at, uptime=1000 + int(at), **counters)


def steady(count: int, step: int = 1_000_000, start: float = 0.0) -> list[Sample]:
    return [
        sample(start + each, lsn=5_000_000 + each * step, os_log_written=9_000 + each * step * 3) for each in range(count)
    ]  # fmt: skip


def test_a_steady_rate() -> None:
    (segment,) = series_of(steady(11)).segments
    assert segment.whole.redo_per_hour == (1e6 * HOUR, 1e6 * HOUR)
    assert segment.whole.ratio == 3
    assert (segment.samples, segment.gaps) == (11, [])
    assert segment.peak is not None
    assert segment.peak.per_hour(segment.peak.lsn) == 1e6 * HOUR


def test_the_peak_is_the_fastest_interval_and_the_highest_age() -> None:
    samples = [
        sample(at, lsn=lsn, checkpoint_age=age, hard_limit=100)
        for at, lsn, age in ((0, 0, 5), (1, 10, 90), (2, 500, 7))
    ]
    (segment,) = series_of(samples).segments
    assert segment.peak is not None
    assert (segment.peak.lsn, segment.peak_age, segment.highest) == (490, 90, samples[1])
    assert (segment.peak_fullness, segment.last.fullness, sample(3).fullness) == (0.9, 0.07, None)


def test_a_gap_counts_for_the_whole_and_is_no_peak() -> None:
    samples = [*steady(5), *steady(5, start=64.0)]
    samples[5:] = [replace(each, lsn=(each.lsn or 0) + 10**12, os_log_written=None) for each in samples[5:]]
    (segment,) = series_of(samples).segments
    assert [gap.seconds for gap in segment.gaps] == [60.0]
    assert segment.whole.lsn == 10**12 + 4_000_000
    assert segment.peak is not None
    assert segment.peak.lsn == 1_000_000


@pytest.mark.parametrize(
    "after",
    [
        sample(2.0, lsn=4_000_000, os_log_written=50_000_000),
        sample(2.0, lsn=8_000_000, os_log_written=100),
        replace(sample(2.0, lsn=8_000_000, os_log_written=50_000_000), uptime=1),
        # It was down for so long that its uptime, though greater, cannot be that of the same start.
        replace(sample(4000.0, lsn=8_000_000, os_log_written=50_000_000), uptime=1100),
        # Behind the same address another server answers, which has been up for longer and has written more.
        replace(sample(2.0, lsn=8_000_000_000, os_log_written=50_000_000_000), uptime=2_000_000),
    ],
)
def test_after_a_restart_a_new_segment_begins(after: Sample) -> None:
    before = steady(2)
    segments = series_of([*before, after]).segments
    assert [segment.samples for segment in segments] == [2, 1]
    assert segments[1].whole.redo_per_hour is None
    assert lives_of([*before, after]) == [before, [after]]


def test_without_an_lsn_the_rate_is_a_range() -> None:
    (segment,) = series_of([sample(at, os_log_written=7_150_000 * at) for at in range(3)]).segments
    least, most = segment.whole.redo_per_hour or (0, 0)
    assert most == 7_150_000 * HOUR
    assert 0 < least < most / 2
    writes = [sample(at, os_log_written=5_120_000 * at, log_writes=2_000 * at) for at in range(3)]
    (narrower,) = series_of(writes).segments
    assert narrower.whole.redo_per_hour == pytest.approx(((5_120_000 - 1_024_000) / 1.9375 * HOUR, 5_120_000 * HOUR))


@given(st.lists(st.tuples(st.floats(0.05, 500), st.integers(0, 10**9), st.booleans()), max_size=40))
def test_no_rate_is_ever_negative_and_every_sample_is_in_one_segment(
    steps: list[tuple[float, int, bool]],
) -> None:
    at, lsn, uptime = 100.0, 10**9, 1000.0
    samples = [Sample(monotonic=at, wall=None, lsn=lsn, uptime=int(uptime))]
    for seconds, grown, restart in steps:
        at += seconds
        lsn += grown
        uptime = 0.0 if restart else uptime + seconds
        samples.append(Sample(monotonic=at, wall=None, lsn=lsn, uptime=int(uptime)))
    series = Series(gap_after=10.0)
    intervals = [interval for each in samples if (interval := series.add(each)) is not None]
    assert all(interval.seconds > 0 and (interval.lsn or 0) >= 0 for interval in intervals)
    assert sum(segment.samples for segment in series.segments) == len(samples)
    assert len(intervals) == len(samples) - len(series.segments)
    lives = lives_of(samples)
    assert [len(life) for life in lives] == [segment.samples for segment in series.segments]
    assert [sample for life in lives for sample in life] == samples


def test_an_lsn_that_slips_back_a_little_is_no_restart() -> None:
    before = steady(3)
    slipped = sample(3.0, lsn=(before[-1].lsn or 0) - 41_631, os_log_written=6_100_000)
    (segment,) = series_of([*before, slipped, sample(4.0, lsn=8_000_000, os_log_written=9_000_000)]).segments
    assert segment.samples == 5
    assert segment.whole.lsn == 3_000_000
