"""Intervals on series and blocks of which the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from redolab.report.intervals import (
    Estimate,
    RelativeChange,
    batch_means,
    holm,
    p_values,
    relative_changes,
)
from redolab.results.plateau import plateau
from redolab.units import GIB, MIB


def test_of_independent_values_the_interval_holds_the_mean_as_often_as_it_says() -> None:
    draw = np.random.default_rng(1)
    found = [batch_means(list(draw.normal(100, 10, 360))) for _ in range(400)]
    assert 0.91 < sum(each.low <= 100 <= each.high for each in found) / len(found) < 0.98


def test_of_values_that_depend_on_their_neighbours_it_reaches_further() -> None:
    draw = np.random.default_rng(2)
    noise = draw.normal(0, 10, 360)
    waves = 10 * np.sin(np.arange(360) / 8)
    alone, together = (
        batch_means(list(100 + noise)),
        batch_means(list(100 + np.convolve(noise, np.ones(20) / 5, "same"))),
    )
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert batch_means(list(100 + waves)).mean == pytest.approx(100, abs=1)


def test_blocks_that_differ_as_a_whole_do_not_hide_an_effect() -> None:
    # Each block is of another speed; the treatment adds a tenth in every one.
    measured = [
        (block, treatment, speed * (1.1 if treatment == "more" else 1.0) * (1 + wobble))
        for block, speed, wobble in (("a", 100, 0.001), ("b", 200, -0.001), ("c", 50, 0.0))
        for treatment, wobble in (("base", wobble), ("more", -wobble), ("same", wobble))
    ]
    found = relative_changes(measured, "base")
    assert found["more"].change == pytest.approx(0.1, abs=0.002)
    assert found["more"].excludes_zero
    assert found["more"].low < 0.1 < found["more"].high
    assert found["more"].blocks == 3
    assert not found["same"].excludes_zero
    assert "base" not in found


def test_the_chance_of_an_effect_agrees_with_its_interval() -> None:
    for level in (1.004, 1.01, 1.02):
        measured = [
            (block, treatment, 100 * (level if treatment == "more" else 1.0) * (1 + wobble))
            for block, wobbles in (("a", (0.004, -0.003)), ("b", (-0.006, 0.004)), ("c", (0.002, 0.003)))
            for treatment, wobble in zip(("base", "more"), wobbles, strict=True)
        ]
        assert (p_values(measured, "base")["more"] < 0.05) == relative_changes(measured, "base")["more"].excludes_zero
    assert math.isnan(p_values([("a", "base", 100.0), ("a", "more", 120.0)], "base")["more"])


def test_among_many_comparisons_a_small_chance_is_none() -> None:
    assert holm([0.001, 0.04, math.nan, 0.03]) == [True, False, False, False]
    assert holm([0.02, 0.04, math.nan, 0.001]) == [True, True, False, True]
    assert holm([math.nan]) == [False]


def test_of_families_without_an_effect_one_in_twenty_at_most_shows_one() -> None:
    random, wrong = np.random.default_rng(1), 0
    names = [str(number) for number in range(8)]
    for _ in range(1000):
        measured = [(str(block), name, math.exp(random.normal())) for block in range(3) for name in names]
        wrong += any(holm(list(p_values(measured, names[0]).values())))
    # 1,000 families tell their share within 1.4 percentage points, 95 % sure.
    assert wrong <= 64


def test_without_a_second_block_there_is_no_interval() -> None:
    found = relative_changes([("a", "base", 100.0), ("a", "more", 120.0)], "base")
    assert found["more"].change == pytest.approx(0.2)
    assert math.isnan(found["more"].low)
    assert not found["more"].excludes_zero


def exactly(mean: float, half: float = 1.0) -> Estimate:
    return Estimate(mean, mean - half, mean + half)


def test_an_effect_is_told_with_its_interval_or_how_small_it_must_be() -> None:
    assert RelativeChange(0.18, 0.12, 0.25, 3).in_words() == "+18 % (+12 to +25)"
    assert RelativeChange(0.01, -0.03, 0.05, 3).in_words() == "no measurable effect (±5 %)"
    assert RelativeChange(0.2, math.nan, math.nan, 1).in_words() == "+20 %"


def test_the_plateau_is_the_smallest_size_that_is_as_good_as_the_best() -> None:
    found = plateau({256 * MIB: exactly(700), GIB: exactly(950), 2 * GIB: exactly(1000), 4 * GIB: exactly(1010)})
    assert found.size == 2 * GIB
    assert (found.low, found.high) == (2 * GIB, 2 * GIB)


def test_what_cannot_be_told_apart_widens_its_interval() -> None:
    found = plateau({GIB: exactly(970, 30), 2 * GIB: exactly(1000, 30), 4 * GIB: exactly(1010, 30)})
    assert found.low == GIB
    assert found.high == 4 * GIB
