"""Limits of flushing from a server's settings, and what drives it at a sample."""

from __future__ import annotations

import math

import pytest

from redolab.servers.redo_counters import Sample
from redolab.units import MIB
from redolab.watch.standing import Driver, flush_limits

_VARIABLES = {
    "innodb_buffer_pool_size": str(160 * MIB),
    "innodb_max_dirty_pages_pct": "90.000000",
    "innodb_max_dirty_pages_pct_lwm": "0.000000",
    "innodb_adaptive_flushing": "ON",
    "innodb_adaptive_flushing_lwm": "10.000000",
}
_PAGE = 16 * 1024
LIMITS = flush_limits(_VARIABLES, hard=100 * MIB, sync=80 * MIB, page_size=_PAGE)


def at(age: int | None, dirty: int = 0, monotonic: float = 10.0) -> Sample:
    return Sample(monotonic=monotonic, wall=None, checkpoint_age=age, dirty_pages=dirty)


def test_limits_are_those_of_the_settings() -> None:
    assert (LIMITS.adaptive, LIMITS.dirty_share, LIMITS.pool_pages) == (10 * MIB, 0.9, 10240)
    low = flush_limits({**_VARIABLES, "innodb_max_dirty_pages_pct_lwm": "25"}, 100 * MIB, None, _PAGE)
    assert low.dirty_share == 0.25
    off = flush_limits({**_VARIABLES, "innodb_adaptive_flushing": "OFF"}, 100 * MIB, None, _PAGE)
    assert off.adaptive is None
    nothing = flush_limits({}, None, None, _PAGE)
    assert (nothing.adaptive, nothing.dirty_share, nothing.pool_pages) == (None, None, 0)


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (at(MIB), Driver.NOTHING),
        (at(10 * MIB), Driver.CHECKPOINT_AGE),
        (at(MIB, dirty=9216), Driver.DIRTY_PAGES),
        (at(MIB, dirty=9215), Driver.NOTHING),
        (at(80 * MIB, dirty=9216), Driver.SYNC),
        (at(100 * MIB), Driver.WAITING),
        (at(None), None),
    ],
)
def test_the_most_pressing_limit_drives_flushing(sample: Sample, expected: Driver | None) -> None:
    assert LIMITS.driver(sample) is expected


def test_until_statements_wait_at_the_rate_of_two_samples() -> None:
    assert LIMITS.seconds_until_waiting(at(40 * MIB), at(50 * MIB, monotonic=15.0)) == 25.0
    assert LIMITS.seconds_until_waiting(at(50 * MIB), at(40 * MIB, monotonic=15.0)) == math.inf
    assert LIMITS.seconds_until_waiting(at(50 * MIB), at(101 * MIB, monotonic=15.0)) == 0.0
    assert LIMITS.seconds_until_waiting(None, at(50 * MIB)) is None
    assert LIMITS.seconds_until_waiting(at(None), at(50 * MIB, monotonic=15.0)) is None
