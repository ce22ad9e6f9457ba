"""When the kill comes, on made-up series of counters: the rule is a pure function of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolab.crash.fill import PATIENCE, Fill
from redolab.crash.records.kill_rule import HIGHEST_AGE, KillRule
from redolab.crash.wanted import WantedCrash
from redolab.servers.redo_capacity import capacity_before_8_0, one_file, two_files
from redolab.servers.redo_counters import Counters
from redolab.units import MIB

CAPACITY = capacity_before_8_0(two_files(512 * MIB), header=2048)


def counters(age: int, lsn: int = 0) -> Counters:
    return Counters(checkpoint_age=age * MIB, lsn=lsn * MIB, sync_flush_point=700 * MIB, hard_limit=800 * MIB)


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
    assert [fill.reason_to_kill(at, counters(age)) for at, age in before] == [None] * len(before)
    assert reason in (fill.reason_to_kill(at, counters(age)) or "")


def test_by_default_a_log_is_filled_to_the_highest_age() -> None:
    assert KillRule.from_options(None, None) == HIGHEST_AGE
    assert WantedCrash(log_size=512 * MIB).kill == HIGHEST_AGE


def test_on_mariadb_the_highest_age_is_where_statements_wait() -> None:
    capacity = capacity_before_8_0(one_file(512 * MIB), header=12288, forced_at_limit=True)
    fill = Fill(HIGHEST_AGE, capacity, began=0.0)
    at_limit = Counters(checkpoint_age=783 * MIB, lsn=0, sync_flush_point=800 * MIB, hard_limit=800 * MIB)
    assert fill.reason_to_kill(1.0, at_limit) is None
    assert fill.reason_to_kill(2.0, replace(at_limit, checkpoint_age=784 * MIB)) is not None


def test_a_growing_age_is_left_alone_for_as_long_as_it_takes() -> None:
    fill = Fill(KillRule(age=700 * MIB), CAPACITY, began=0.0)
    assert all(fill.reason_to_kill(10.0 * step, counters(step)) is None for step in range(600))


def test_the_time_left_is_what_is_missing_at_the_present_rate() -> None:
    fill = Fill(KillRule(age=700 * MIB), CAPACITY, began=0.0)
    for second in range(5):
        fill.reason_to_kill(float(second), counters(100 + 50 * second, lsn=1000 + 50 * second))
    assert fill.rate() == 50 * MIB
    assert fill.seconds_left(4.0, counters(300)) == pytest.approx(8.0)
    assert "50 MiB/s of LSN · 321 commits/s · 8.00 s left" in fill.words(4.0, counters(300), 321.4)


def test_a_server_that_does_not_tell_its_limit_is_held_to_the_formula() -> None:
    fill = Fill(KillRule(age_fraction=1.0), CAPACITY, began=0.0)
    assert fill.reason_to_kill(1.0, Counters(checkpoint_age=CAPACITY.hard_limit - 1)) is None
    assert fill.reason_to_kill(1.1, Counters(checkpoint_age=CAPACITY.hard_limit)) is not None


def test_the_time_left_of_an_age_and_a_time_is_the_shorter_one() -> None:
    rule = KillRule.from_options("75%", 30.0)
    early, late = (Fill(rule, CAPACITY, began=0.0) for _ in range(2))
    for second in (1, 2):
        early.reason_to_kill(float(second), counters(100 * second, lsn=100 * second))
    assert early.seconds_left(2.0, counters(200, lsn=200)) == pytest.approx(4.0)
    for second in (1, 29):
        late.reason_to_kill(float(second), counters(590))
    assert late.seconds_left(29.0, counters(590)) == pytest.approx(1.0)
