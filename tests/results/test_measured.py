"""Trials as frames: what is compared with what."""

from __future__ import annotations

import polars
import pytest

from redolab.results.measured import beside_baseline


def test_only_trials_of_a_block_are_compared() -> None:
    trials = polars.DataFrame(
        {
            "label": "MySQL 9.7.4",
            "block": ["run 1", "run 1", None, None],
            "log": ["none", "all", "none", "all"],
            "rate": [1000.0, 900.0, 1000.0, 500.0],
        }
    )
    (found,) = beside_baseline(trials, "rate", "log", "none").to_dicts()
    assert found["change"] == pytest.approx(-0.1)
    assert beside_baseline(trials.filter(polars.col("block").is_null()), "rate", "log", "none").is_empty()
