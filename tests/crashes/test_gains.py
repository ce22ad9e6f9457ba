"""What a larger log gains, from loads of which the truth is known."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import pytest

from redolab.crashes.fill import KillRule
from redolab.crashes.gains import LoadSeries, load_series
from redolab.crashes.load_figures import load_figures
from redolab.crashes.loads import Load
from redolab.servers.dialects import Purpose
from redolab.units import GIB
from redolab.workloads.contract import WorkloadMoment
from tests.examples import image


def load(run: str, log_size: int, rate: float) -> Load:
    """Of a minute with so many commits a second."""
    of_image = image()
    instance = replace(of_image.spec.instance, purpose=Purpose.PRODUCTION, log_size=log_size)
    spec = msgspec.structs.replace(of_image.spec, kill=KillRule(after=60), instance=instance)
    moments = [WorkloadMoment(monotonic=float(at), commits_per_second=rate, latency_95_ms=1.0) for at in range(61)]
    figures = load_figures(moments, [], [], of_image.capacity, 40, killed=60.0)
    assert figures is not None
    return Load(run, 0, "local", msgspec.structs.replace(of_image, spec=spec), moments, [], figures, [])


def series(*loads: Load) -> LoadSeries:
    """All of them are of one server."""
    (found,) = load_series(loads)
    return found


def test_one_load_of_each_size_tells_no_interval() -> None:
    found = series(load("one", GIB, 1000), load("one", 4 * GIB, 1100))
    assert found.gains[4 * GIB].change == pytest.approx(0.1)
    assert math.isnan(found.gains[4 * GIB].low)
    # It may be any of the sizes.
    assert (found.plateau.size, found.plateau.low, found.plateau.high) == (4 * GIB, GIB, 4 * GIB)


def test_repeated_loads_tell_how_far_those_made_alike_differ() -> None:
    found = series(
        *(load("one", size, rate) for size, rate in ((GIB, 1000), (4 * GIB, 1103))),
        *(load("two", size, rate) for size, rate in ((GIB, 2000), (4 * GIB, 2194))),
        *(load("three", size, rate) for size, rate in ((GIB, 500), (4 * GIB, 550))),
    )
    gain = found.gains[4 * GIB]
    assert gain.blocks == 3
    assert 0.08 < gain.low < 0.1 < gain.high < 0.12
    assert (found.plateau.low, found.plateau.high) == (4 * GIB, 4 * GIB)


def test_a_fast_day_on_which_only_the_larger_log_was_measured_is_no_gain() -> None:
    found = series(
        *(load("slow", size, rate) for size, rate in ((GIB, 1000), (2 * GIB, 1001), (4 * GIB, 1002))),
        *(load("fast", size, rate) for size, rate in ((2 * GIB, 2002), (4 * GIB, 2000))),
    )
    assert found.gains[4 * GIB].change == pytest.approx(0.0, abs=0.01)
    assert found.plateau.size == GIB


def test_where_nothing_succeeded_with_the_smallest_log_the_others_still_have_a_best() -> None:
    found = series(load("one", GIB, 0), load("one", 2 * GIB, 1000), load("one", 4 * GIB, 1010))
    assert not found.gains
    assert found.plateau.size == 2 * GIB
