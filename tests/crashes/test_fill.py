"""When the kill comes, on made-up series of counters: the rule is a pure function of them."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from redolab.counters import Counters
from redolab.crashes.fill import PATIENCE, Fill
from redolab.crashes.wanted import WantedCrash
from redolab.models.capacity import capacity_before_8_0, one_file, two_files
from redolab.records.kill_rule import HIGHEST_AGE, KillRule
from redolab.units import MIB

CAPACITY = capacity_before_8_0(two_files(512 * MIB), header=2048)


def counters(age: int, lsn: int = 0) -> Counters:
    return Counters(checkpoint_age=age * MIB, lsn=lsn * MIB, sync_flush_point=700 * MIB, hard_limit=800 * MIB)


def test_by_default_a_log_is_filled_to_the_highest_age() -> None:
    assert KillRule.from_options(None, None) == HIGHEST_AGE
    assert WantedCrash(log_size=512 * MIB).kill == HIGHEST_AGE
    # 31/32 of the server's own limit of 800M, and few samples fall right on it.
    fill = Fill(HIGHEST_AGE, CAPACITY, began=0.0)
    assert fill.reason_to_kill(1.0, counters(759)) is None
    assert "reached its target of 759.5M" in (fill.reason_to_kill(2.0, counters(760)) or "")


def test_on_mariadb_the_highest_age_is_where_statements_wait() -> None:
    capacity = capacity_before_8_0(one_file(512 * MIB), header=12288, forced_at_limit=True)
    fill = Fill(HIGHEST_AGE, capacity, began=0.0)
    at_limit = Counters(checkpoint_age=783 * MIB, lsn=0, sync_flush_point=800 * MIB, hard_limit=800 * MIB)
    assert fill.reason_to_kill(1.0, at_limit) is None
    assert fill.reason_to_kill(2.0, replace(at_limit, checkpoint_age=784 * MIB)) is not None


def test_a_rule_from_before_differs_from_the_default() -> None:
    before = msgspec.json.decode(b'{"age_fraction": null, "age": null, "after": null, "steady": null}', type=KillRule)
    assert before == KillRule() != HIGHEST_AGE
    assert before.filled_to() != HIGHEST_AGE.filled_to()


def test_a_percentage_is_of_the_usable_capacity() -> None:
    fill = Fill(KillRule(age_fraction=0.5), CAPACITY, began=0.0)
    assert fill.reason_to_kill(1.0, counters(399)) is None
    assert fill.reason_to_kill(1.1, counters(400)) is not None


def test_an_age_in_bytes() -> None:
    fill = Fill(KillRule.from_options("300M", None), CAPACITY, began=0.0)
    assert fill.reason_to_kill(1.0, counters(299)) is None
    assert fill.reason_to_kill(1.1, counters(300)) is not None


def test_after_a_time_whatever_the_age() -> None:
    fill = Fill(KillRule(after=30.0), CAPACITY, began=100.0)
    assert fill.reason_to_kill(129.9, counters(800)) is None
    assert "30.0 s of the workload" in (fill.reason_to_kill(130.0, counters(1)) or "")


def test_an_age_that_stops_growing_is_noticed_near_its_peak() -> None:
    fill = Fill(KillRule(age=700 * MIB), CAPACITY, began=0.0)
    assert fill.reason_to_kill(1.0, counters(500)) is None
    # It saws below its peak: the kill waits for the next time it is high.
    assert fill.reason_to_kill(2.0 + PATIENCE, counters(300)) is None
    reason = fill.reason_to_kill(3.0 + PATIENCE, counters(495))
    assert reason is not None
    assert "stopped growing at 500M, short of its target of 700M" in reason


def test_an_age_that_never_comes_near_its_peak_again_does_not_keep_the_run_waiting() -> None:
    fill = Fill(KillRule(age=700 * MIB), CAPACITY, began=0.0)
    assert fill.reason_to_kill(1.0, counters(500)) is None
    assert fill.reason_to_kill(1.0 + 2.9 * PATIENCE, counters(300)) is None
    assert fill.reason_to_kill(2.0 + 3.0 * PATIENCE, counters(300)) is not None


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


def test_of_an_age_and_a_time_what_comes_first() -> None:
    rule = KillRule.from_options("75%", 30.0)
    early = Fill(rule, CAPACITY, began=0.0)
    assert early.reason_to_kill(1.0, counters(100, lsn=100)) is None
    assert early.reason_to_kill(2.0, counters(200, lsn=200)) is None
    assert early.seconds_left(2.0, counters(200, lsn=200)) == pytest.approx(4.0)
    assert "reached its target of 600M" in (early.reason_to_kill(3.0, counters(600, lsn=600)) or "")
    late = Fill(rule, CAPACITY, began=0.0)
    # Short of its age for longer than it would be waited for without a time.
    assert late.reason_to_kill(1.0, counters(590)) is None
    assert late.reason_to_kill(29.0, counters(590)) is None
    assert late.seconds_left(29.0, counters(590)) == pytest.approx(1.0)
    assert "30.0 s of the workload" in (late.reason_to_kill(30.0, counters(590)) or "")
