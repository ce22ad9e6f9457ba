"""When a load is steady, on made-up reports: a pure function of them."""

from __future__ import annotations

import pytest

from redolab.crash.fill import Fill
from redolab.crash.records.kill_rule import KillRule, SteadyRule
from redolab.crash.steady import is_steady, last_windows
from redolab.servers.redo_capacity import capacity_before_8_0, two_files
from redolab.servers.redo_counters import Counters
from redolab.units import MIB
from redolab.workloads.data import WorkloadMoment

RULE = SteadyRule(window=10.0)
CAPACITY = capacity_before_8_0(two_files(512 * MIB), header=2048)


def reports(*rates: float) -> list[WorkloadMoment]:
    return [WorkloadMoment(monotonic=float(second), commits_per_second=rate) for second, rate in enumerate(rates)]


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
def test_two_windows_that_are_alike_are_steady(heard: list[WorkloadMoment], at: float, steady: bool) -> None:
    assert is_steady(heard, RULE, at) is steady


def test_a_report_counts_for_the_time_since_the_one_before() -> None:
    # Ten silent seconds, in which nothing ended: no report at all came.
    silent = [WorkloadMoment(monotonic=at, commits_per_second=100) for at in range(15)]
    late = [WorkloadMoment(monotonic=24.0, commits_per_second=1)]
    assert last_windows([*silent, *late], RULE) == pytest.approx((100, 1))


def counters(lsn: int) -> Counters:
    return Counters(lsn=lsn * MIB, checkpoint_age=100 * MIB, hard_limit=800 * MIB)


def test_the_log_must_have_been_filled_twice_too() -> None:
    fill = Fill(KillRule(steady=RULE, after=1800.0), CAPACITY, began=0.0)
    fill.hear(reports(*[100] * 25))
    # Redo from 5,000M on, of which the log holds 800M.
    assert fill.reason_to_kill(24.0, counters(5000)) is None
    fill.hear([WorkloadMoment(monotonic=24.1, commits_per_second=100)])
    assert fill.reason_to_kill(24.1, counters(6599)) is None
    fill.hear([WorkloadMoment(monotonic=24.2, commits_per_second=100)])
    assert fill.reason_to_kill(24.2, counters(6600)) is not None
    assert fill.is_steady(24.3, counters(6600))


def test_a_load_that_does_not_become_steady_ends_when_its_time_is_up() -> None:
    fill = Fill(KillRule(steady=RULE, after=60.0), CAPACITY, began=0.0)
    fill.hear(reports(*[100] * 15, *[200] * 10))
    assert fill.reason_to_kill(59.0, counters(100)) is None
    assert "1 min 0 s" in (fill.reason_to_kill(60.0, counters(9000)) or "")
    assert not fill.is_steady(60.0, counters(9000))


def test_the_time_left_is_until_the_log_is_filled_twice_at_the_present_rate() -> None:
    fill = Fill(KillRule(steady=RULE, after=1800.0), CAPACITY, began=0.0)
    for second in range(5):
        fill.reason_to_kill(float(second), counters(60 * second))
    assert fill.seconds_left(4.0, counters(240)) == pytest.approx(1360 / 60)
    # Two windows and what comes before them take their time, however fast the log fills.
    for second in range(5, 8):
        fill.reason_to_kill(float(second), counters(1000 * second))
    assert fill.seconds_left(8.0, counters(8000)) == pytest.approx(23.3 - 8, abs=0.1)
