"""When the kill comes, and when a load is steady, on made-up series of counters and reports."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolab.crash.fill import PATIENCE, Fill, is_steady, last_windows
from redolab.crash.records.kill_rule import HIGHEST_AGE, KillRule, SteadyRule
from redolab.crash.wanted import WantedCrash
from redolab.servers.redo_capacity import capacity_before_8_0, one_file, two_files
from redolab.servers.redo_counters import Sample
from redolab.units import MIB
from redolab.workloads.data import WorkloadReport

CAPACITY = capacity_before_8_0(two_files(512 * MIB), header=2048)
STEADY = SteadyRule(window=10.0)


def sample(at: float, age: int, lsn: int = 0) -> Sample:
    return Sample(
        monotonic=at,
        wall=None,
        checkpoint_age=age * MIB,
        lsn=lsn * MIB,
        sync_flush_point=700 * MIB,
        hard_limit=800 * MIB,
    )


@pytest.mark.parametrize(
    ("rule", "seen", "reason"),
    [
        # 31/32 of the server's own limit of 800M, and few samples fall right on it.
        (HIGHEST_AGE, [(1, 759), (2, 760)], "target of 759.5M"),
        (KillRule(age_fraction=0.5), [(1, 399), (1.1, 400)], "400M"),
        (KillRule.from_options("300M", None), [(1, 299), (1.1, 300)], "300M"),
        (KillRule(after=30.0), [(29.9, 800), (30, 1)], "30.0 s"),
        # It saws below its peak: the kill waits for the next time it is high, and not for ever.
        (
            KillRule(age=700 * MIB),
            [(1, 500), (2 + PATIENCE, 300), (3 + PATIENCE, 495)],
            "500M, short of its target of 700M",
        ),
        (KillRule(age=700 * MIB), [(1, 500), (1 + 2.9 * PATIENCE, 300), (2 + 3 * PATIENCE, 300)], "500M"),
        # Of an age and a time what comes first, however long it is short of its age.
        (KillRule.from_options("75%", 30.0), [(1, 100), (2, 200), (3, 600)], "target of 600M"),
        (KillRule.from_options("75%", 30.0), [(1, 590), (29, 590), (30, 590)], "30.0 s"),
    ],
)
def test_the_kill_comes_at_the_last_sample_and_not_before(
    rule: KillRule, seen: list[tuple[float, int]], reason: str
) -> None:
    fill = Fill(rule, CAPACITY, began=0.0)
    *before, (at, age) = seen
    assert [fill.reason_to_kill(sample(at, age)) for at, age in before] == [None] * len(before)
    assert reason in (fill.reason_to_kill(sample(at, age)) or "")


def test_by_default_a_log_is_filled_to_the_highest_age() -> None:
    assert KillRule.from_options(None, None) == HIGHEST_AGE
    assert WantedCrash(log_size=512 * MIB).kill == HIGHEST_AGE


def test_on_mariadb_the_highest_age_is_where_statements_wait() -> None:
    capacity = capacity_before_8_0(one_file(512 * MIB), header=12288, forced_at_limit=True)
    fill = Fill(HIGHEST_AGE, capacity, began=0.0)
    below = replace(sample(1.0, 783), sync_flush_point=800 * MIB)
    assert fill.reason_to_kill(below) is None
    assert fill.reason_to_kill(replace(below, monotonic=2.0, checkpoint_age=784 * MIB)) is not None


def test_a_growing_age_is_left_alone_for_as_long_as_it_takes() -> None:
    fill = Fill(KillRule(age=700 * MIB), CAPACITY, began=0.0)
    assert all(fill.reason_to_kill(sample(10.0 * step, step)) is None for step in range(600))


def test_the_time_left_is_what_is_missing_at_the_present_rate() -> None:
    fill = Fill(KillRule(age=700 * MIB), CAPACITY, began=0.0)
    for second in range(5):
        fill.reason_to_kill(sample(float(second), 100 + 50 * second, lsn=1000 + 50 * second))
    assert fill.rate() == 50 * MIB
    assert fill.seconds_left(sample(4.0, 300)) == pytest.approx(8.0)


def test_a_server_that_does_not_tell_its_limit_is_held_to_the_formula() -> None:
    fill = Fill(KillRule(age_fraction=1.0), CAPACITY, began=0.0)
    below = Sample(monotonic=1.0, wall=None, checkpoint_age=CAPACITY.hard_limit - 1)
    assert fill.reason_to_kill(below) is None
    assert fill.reason_to_kill(replace(below, monotonic=1.1, checkpoint_age=CAPACITY.hard_limit)) is not None


def test_the_time_left_of_an_age_and_a_time_is_the_shorter_one() -> None:
    rule = KillRule.from_options("75%", 30.0)
    early, late = (Fill(rule, CAPACITY, began=0.0) for _ in range(2))
    for second in (1, 2):
        early.reason_to_kill(sample(float(second), 100 * second, lsn=100 * second))
    assert early.seconds_left(sample(2.0, 200, lsn=200)) == pytest.approx(4.0)
    for second in (1, 29):
        late.reason_to_kill(sample(float(second), 590))
    assert late.seconds_left(sample(29.0, 590)) == pytest.approx(1.0)


def reports(*rates: float) -> list[WorkloadReport]:
    return [WorkloadReport(monotonic=float(second), commits_per_second=rate) for second, rate in enumerate(rates)]


@pytest.mark.parametrize(
    ("heard", "at", "steady"),
    [
        (reports(0, *[20] * 4, *[100] * 10, *[104] * 10), 24.0, True),
        # A change of more than the rule allows.
        (reports(0, *[100] * 14, *[106] * 10), 24.0, False),
        (reports(0, *[100] * 14, *[94] * 10), 24.0, False),
        # Only the last two windows count, and less than two after the start are never steady.
        (reports(0, *[5000] * 30, *[100] * 20), 50.0, True),
        (reports(0, *[100] * 19), 19.0, False),
        (reports(0, *[100] * 23), 23.0, False),
        ([], 0.0, False),
        # Nothing is heard of clients, or they do nothing.
        (reports(0, *[100] * 24), 28.0, False),
        (reports(*[0] * 25), 24.0, False),
    ],
)
def test_two_windows_that_are_alike_are_steady(heard: list[WorkloadReport], at: float, steady: bool) -> None:
    assert is_steady(heard, STEADY, at) is steady


def test_a_report_counts_for_the_time_since_the_one_before() -> None:
    # Ten silent seconds, in which nothing ended: no report at all came.
    silent = [WorkloadReport(monotonic=at, commits_per_second=100) for at in range(15)]
    late = [WorkloadReport(monotonic=24.0, commits_per_second=1)]
    assert last_windows([*silent, *late], STEADY) == pytest.approx((100, 1))


def test_the_log_must_have_been_filled_twice_too() -> None:
    fill = Fill(KillRule(steady=STEADY, after=1800.0), CAPACITY, began=0.0)
    fill.hear(reports(*[100] * 25))
    # Redo from 5,000M on, of which the log holds 800M.
    assert fill.reason_to_kill(sample(24.0, 100, 5000)) is None
    fill.hear([WorkloadReport(monotonic=24.1, commits_per_second=100)])
    assert fill.reason_to_kill(sample(24.1, 100, 6599)) is None
    fill.hear([WorkloadReport(monotonic=24.2, commits_per_second=100)])
    assert fill.reason_to_kill(sample(24.2, 100, 6600)) is not None
    assert fill.is_steady(sample(24.3, 100, 6600))


def test_a_load_that_does_not_become_steady_ends_when_its_time_is_up() -> None:
    fill = Fill(KillRule(steady=STEADY, after=60.0), CAPACITY, began=0.0)
    fill.hear(reports(*[100] * 15, *[200] * 10))
    assert fill.reason_to_kill(sample(59.0, 100, 100)) is None
    assert "1 min 0 s" in (fill.reason_to_kill(sample(60.0, 100, 9000)) or "")
    assert not fill.is_steady(sample(60.0, 100, 9000))


def test_the_time_left_is_until_the_log_is_filled_twice_at_the_present_rate() -> None:
    fill = Fill(KillRule(steady=STEADY, after=1800.0), CAPACITY, began=0.0)
    for second in range(5):
        fill.reason_to_kill(sample(float(second), 100, 60 * second))
    assert fill.seconds_left(sample(4.0, 100, 240)) == pytest.approx(1360 / 60)
    # Two windows and what comes before them take their time, however fast the log fills.
    for second in range(5, 8):
        fill.reason_to_kill(sample(float(second), 100, 1000 * second))
    assert fill.seconds_left(sample(8.0, 100, 8000)) == pytest.approx(23.3 - 8, abs=0.1)
