"""What a larger log gains, from loads of which the truth is known."""

from __future__ import annotations

import pytest

from redolab.results.gains import LoadSeries, load_series
from redolab.results.loads import Load
from redolab.results.plateau import Plateau
from redolab.units import GIB
from tests.examples import production_load


def series(*loads: Load) -> LoadSeries:
    """All of them are of one server."""
    (found,) = load_series(loads)
    return found


def _plateau(found: LoadSeries) -> Plateau:
    assert found.plateau is not None
    return found.plateau


def test_loads_measured_in_other_seconds_are_not_compared() -> None:
    found = series(
        *(production_load(run, GIB, rate) for run, rate in (("one", 1000), ("two", 1010))),
        *(production_load(run, 2 * GIB, rate, lasted=66) for run, rate in (("one", 1050), ("two", 1060))),
        *(production_load(run, 4 * GIB, rate, lasted=600) for run, rate in (("one", 1040), ("two", 1050))),
    )
    assert found.gains[2 * GIB].change == pytest.approx(0.05, abs=0.001)
    assert 4 * GIB not in found.gains
    assert found.apart == [4 * GIB]
    assert found.plateau is None
    assert found.furthest == pytest.approx(0.05, abs=0.001)
    assert found.repeated


def test_what_is_compared_has_the_spread_of_all_loads_made_alike() -> None:
    """Those of the largest log went the other way from one block to the next, which tells that single loads differ."""
    found = series(
        *(production_load(run, GIB, rate) for run, rate in (("one", 1000), ("two", 1030))),
        *(production_load(run, 2 * GIB, rate) for run, rate in (("one", 1020), ("two", 1050))),
        *(production_load(run, 4 * GIB, rate, lasted=600) for run, rate in (("one", 1050), ("two", 1020))),
    )
    gain = found.gains[2 * GIB]
    assert gain.change == pytest.approx(0.02, abs=0.001)
    assert gain.low < 0 < gain.high


def test_a_size_of_other_seconds_is_compared_by_way_of_one_that_has_both() -> None:
    found = series(
        *(production_load("one", size, rate) for size, rate in ((GIB, 1000), (2 * GIB, 1100))),
        production_load("two", 2 * GIB, 500, lasted=300),
        production_load("two", 4 * GIB, 600, lasted=300),
    )
    assert found.gains[4 * GIB].change == pytest.approx(1.1 * 1.2 - 1)
    assert found.apart == []


def test_repeated_loads_tell_how_far_those_made_alike_differ() -> None:
    found = series(
        *(production_load("one", size, rate) for size, rate in ((GIB, 1000), (4 * GIB, 1103))),
        *(production_load("two", size, rate) for size, rate in ((GIB, 2000), (4 * GIB, 2194))),
        *(production_load("three", size, rate) for size, rate in ((GIB, 500), (4 * GIB, 550))),
    )
    gain = found.gains[4 * GIB]
    assert gain.blocks == 3
    assert 0.08 < gain.low < 0.1 < gain.high < 0.12
    assert (_plateau(found).low, _plateau(found).high) == (4 * GIB, 4 * GIB)


def test_a_fast_day_on_which_only_the_larger_log_was_measured_is_no_gain() -> None:
    found = series(
        *(production_load("slow", size, rate) for size, rate in ((GIB, 1000), (2 * GIB, 1001), (4 * GIB, 1002))),
        *(production_load("fast", size, rate) for size, rate in ((2 * GIB, 2002), (4 * GIB, 2000))),
    )
    assert found.gains[4 * GIB].change == pytest.approx(0.0, abs=0.01)
    assert _plateau(found).size == GIB
    # What stands in the table, and is drawn, is no rise either.
    assert found.uneven
    assert [round(cell.rate.mean) for cell in found.cells] == [1000, 1002, 1001]
    assert all(cell.rate.low < 1000 < cell.rate.high for cell in found.cells)


def test_sizes_that_no_block_has_together_are_compared_by_way_of_a_third() -> None:
    found = series(
        *(production_load("one", size, rate) for size, rate in ((GIB, 1000), (2 * GIB, 1050))),
        *(production_load("two", size, rate) for size, rate in ((2 * GIB, 500), (4 * GIB, 700))),
    )
    assert found.gains[4 * GIB].change == pytest.approx(1.05 * 1.4 - 1)
    assert _plateau(found).size == 4 * GIB


def test_what_no_block_compares_is_a_series_of_its_own() -> None:
    one, two = load_series(
        [
            production_load("one", GIB, 1000),
            production_load("one", 2 * GIB, 1010),
            production_load("two", 4 * GIB, 1500),
            production_load("two", 8 * GIB, 1510),
        ]
    )
    assert [cell.log_size for cell in one.cells] == [GIB, 2 * GIB]
    assert [cell.log_size for cell in two.cells] == [4 * GIB, 8 * GIB]
    assert _plateau(one).size == GIB


def test_repeated_loads_of_a_single_size_have_the_interval_of_what_they_differ_by() -> None:
    found = series(
        production_load("one", GIB, 27_000), production_load("two", GIB, 29_000), production_load("three", GIB, 25_000)
    )
    (cell,) = found.cells
    # Student's t of three: 4.3 standard deviations by the root of 3.
    assert 21_000 < cell.rate.low < 23_000
    assert 31_000 < cell.rate.high < 33_500


def test_where_nothing_succeeded_with_the_smallest_log_the_others_still_have_a_best() -> None:
    found = series(
        production_load("one", GIB, 0), production_load("one", 2 * GIB, 1000), production_load("one", 4 * GIB, 1010)
    )
    assert not found.gains
    assert _plateau(found).size == 2 * GIB
