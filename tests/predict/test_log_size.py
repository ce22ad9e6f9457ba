"""Sizes: which hold an hour, which recover in time, which lose nothing, and the choice among them."""

from __future__ import annotations

from collections.abc import Mapping

from redolab.predict.log_size import Basis, Limits, LogSizeAdvice, advise, is_resolved, possible_sizes
from redolab.report.intervals import RelativeChange
from redolab.units import GIB, MIB


def age(log_size: int) -> int:
    return log_size * 7 // 10


def advice(
    redo_per_hour: float,
    rto: float,
    *,
    largest: int = 512 * GIB,
    lost: Mapping[int, RelativeChange | None] | None = None,
    chance: float = 0.05,
) -> LogSizeAdvice:
    """Recoveries are too long in a share of crashes that is 5 % where they take 10/12 of the time, and grows from there."""
    return advise(
        possible_sizes(4 * MIB, largest),
        Limits(rto=rto, chance=chance),
        redo_per_hour,
        age=age,
        chance=lambda size: min(1.0, 0.05 * 12 * size / GIB / rto),
        lost=(lost or {}).get,
    )


def loss(change: float, low: float, high: float) -> RelativeChange:
    return RelativeChange(change, low, high, 3)


def test_the_answer_holds_an_hour_and_recovers_in_time() -> None:
    found = advice(2.7 * GIB, 60)
    assert found.smallest_for_hour == found.size == 4 * GIB
    assert age(4 * GIB) >= 2.7 * GIB > age(4 * GIB - 256 * MIB)
    assert found.largest_within_rto == 5 * GIB - 256 * MIB
    assert found.basis is Basis.HOUR


def test_where_an_hour_does_not_recover_in_time_the_largest_that_does_is_set() -> None:
    found = advice(7.15 * GIB, 60)
    assert found.smallest_for_hour == 11 * GIB
    assert (found.basis, found.size) == (Basis.TIME, found.largest_within_rto)
    none_in_time = advice(2.7 * GIB, 0.1)
    assert (none_in_time.largest_within_rto, none_in_time.size, none_in_time.basis) == (None, None, None)
    assert none_in_time.smallest == 64 * MIB


def test_with_more_chance_a_larger_log_is_within() -> None:
    few, many = (advice(7.15 * GIB, 60, chance=chance).largest_within_rto or 0 for chance in (0.05, 0.2))
    assert many > 3 * few > 0


def test_the_smallest_that_is_known_to_lose_little_goes_before_the_hour() -> None:
    lost = {256 * MIB: loss(0.06, 0.04, 0.08), GIB: loss(0.01, -0.01, 0.02), 2 * GIB: loss(0.0, -0.01, 0.01)}
    found = advice(2.7 * GIB, 60, lost=lost)
    assert (found.basis, found.size) == (Basis.THROUGHPUT, GIB)
    # Where it does not recover in time, throughput decides nothing.
    late = advice(2.7 * GIB, 6, lost=lost)
    assert (late.basis, late.smallest_at_throughput) == (Basis.TIME, GIB)


def test_a_loss_that_is_not_told_decides_nothing() -> None:
    found = advice(2.7 * GIB, 60, lost={GIB: loss(0.01, -0.04, 0.06), 2 * GIB: None})
    assert (found.smallest_at_throughput, found.basis) == (None, Basis.HOUR)
    assert not is_resolved(loss(0.01, -0.04, 0.06), 0.03)
    assert is_resolved(loss(0.01, -0.01, 0.02), 0.03)
    assert is_resolved(loss(0.05, 0.01, 0.09), 0.03)


def test_what_a_server_cannot_have_is_not_said() -> None:
    found = advice(100 * GIB, 60, largest=4 * GIB)
    assert found.smallest_for_hour is None
    assert (found.basis, found.largest_within_rto) == (Basis.TIME, 4 * GIB)
