"""The busiest hour of samples."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolab.counters.busiest import busiest_hour, busiest_hours_of_days
from redolab.servers.redo_counters import Sample

MB = 1_000_000


def samples(rates: list[float], *, start: float = 0.0, lsn: int = 0, uptime: int = 100) -> list[Sample]:
    """One a minute, with so many MB of LSN and three times of os_log_written in each."""
    written = [lsn]
    for rate in rates:
        written.append(written[-1] + int(rate * MB))
    return [
        Sample(
            monotonic=start + 60 * number,
            wall=None,
            lsn=each,
            os_log_written=3 * each,
            uptime=uptime + 60 * number,
        )
        for number, each in enumerate(written)
    ]


def test_it_is_found_wherever_it_lies() -> None:
    found = busiest_hour(samples([1.0] * 90 + [10.0] * 60 + [2.0] * 90))
    assert found is not None
    assert found.redo_per_hour == pytest.approx(600 * MB)
    assert found.os_log_written_per_hour == pytest.approx(1800 * MB)
    assert (found.seconds, found.sampled, found.in_gaps) == (3600, 240 * 60, 0)
    assert found.by_lsn


def test_less_than_an_hour_is_taken_for_what_it_is() -> None:
    found = busiest_hour(samples([5.0] * 10))
    assert found is not None
    assert found.seconds == 600
    assert found.redo_per_hour == pytest.approx(300 * MB)


def test_nothing_is_computed_across_a_restart() -> None:
    first = samples([1.0] * 30)
    again = samples([4.0] * 30, start=first[-1].monotonic + 60, lsn=2 * MB, uptime=1)
    found = busiest_hour([*first, *again])
    assert found is not None
    assert found.redo_per_hour == pytest.approx(240 * MB)
    # A short life does not beat a long one, whatever its rate.
    brief = samples([50.0], start=first[-1].monotonic + 60, lsn=2 * MB, uptime=1)
    calm = busiest_hour([*first, *brief])
    assert calm is not None
    assert calm.redo_per_hour == pytest.approx(60 * MB)


def test_gaps_and_what_was_written_since_the_start_are_told() -> None:
    steady = samples([1.0] * 30)
    found = busiest_hour([*steady, *samples([1.0] * 30, start=3000, lsn=90 * MB, uptime=3100)])
    assert found is not None
    assert found.in_gaps == pytest.approx(1200)
    assert found.since_start_per_hour == pytest.approx(3 * 120 * MB / 4900 * 3600)


def test_without_an_lsn_it_is_an_upper_bound_and_says_so() -> None:
    only_counter = [
        Sample(monotonic=each.monotonic, wall=None, os_log_written=each.os_log_written) for each in samples([1.0] * 10)
    ]
    found = busiest_hour(only_counter)
    assert found is not None
    assert not found.by_lsn
    assert found.redo_per_hour == pytest.approx(180 * MB)


@pytest.mark.parametrize("few", [[], samples([])])
def test_one_sample_is_none(few: list[Sample]) -> None:
    assert busiest_hour(few) is None


def test_each_whole_day_has_its_busiest_hour() -> None:
    day = [1.0] * (24 * 60)
    quiet, busy = [*day], [*day]
    busy[600:660] = [7.0] * 60
    found = busiest_hours_of_days(samples([*quiet, *busy, *day[:300]]))
    # Of the third day too little was sampled for its peak to be known.
    assert found == pytest.approx([60 * MB, 420 * MB], rel=0.01)
    assert busiest_hours_of_days([]) == []


def test_a_day_after_a_restart_that_set_the_clock_back_is_a_day_of_its_own() -> None:
    day = [1.0] * (24 * 60)
    busier = [2.0 * each for each in day]
    first = samples(day, start=100, uptime=100)
    again = samples(busier, start=3, lsn=first[-1].lsn or 0, uptime=3)
    assert busiest_hours_of_days([*first, *again]) == pytest.approx([60 * MB, 120 * MB], rel=0.01)


def test_what_was_written_while_the_lsn_was_not_known_is_not_taken_for_nothing() -> None:
    every = samples([1.0] * 120)
    late = [replace(each, lsn=None) if each.monotonic < 100 * 60 else each for each in every]
    found = busiest_hour(late)
    assert found is not None
    assert found.redo_per_hour == pytest.approx(60 * MB)
    assert found.sampled == 20 * 60
    assert found.os_log_written_per_hour == pytest.approx(180 * MB)
    without = busiest_hour([replace(each, os_log_written=None) if each.monotonic > 60 else each for each in every])
    assert without is not None
    assert without.os_log_written_per_hour is None
