"""Arithmetic of changed settings, on made-up trials."""

from __future__ import annotations

import pytest

from redolab.units import MIB
from tests.changed_levels import blocks, changed


def test_blocks_that_differ_as_a_whole_are_no_effect() -> None:
    (found,) = changed(blocks(1000, 1300, 800))
    assert found["change"] == pytest.approx(-0.2, abs=0.001)
    assert found["high"] < 0
    assert found["change_recovery"] is not None
    assert found["blocks"] == 3


def test_runs_whose_baselines_were_made_otherwise_are_not_put_together() -> None:
    small, large = blocks(1000, 1100, run="one"), blocks(5000, 5500, level=1.2, run="two", log_size=128 * MIB)
    assert sorted(round(each["change"], 1) for each in changed([*small, *large])) == [-0.2, 0.2]
    assert [each["blocks"] for each in changed([*small, *blocks(900, 950, run="two")])] == [4]


def test_what_stands_beside_an_effect_is_of_the_same_blocks() -> None:
    whole = blocks(1000, 9000)
    # The second block lacks the level.
    (found,) = changed(whole[:-1])
    assert found["latency_95_ms_base"] == pytest.approx(10)
    assert found["blocks"] == 1
