"""Crashes drawn at random: what is drawn, and a survey from its command to its tables."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from experiments.survey import DrawnCrash, drawn_crashes
from redolab.runs.schema import RunState
from redolab.servers.sizes import SMALLEST_DATASET, SMALLEST_POOL
from redolab.units import GIB, MIB
from tests.command import run_of

_MEMORY = 16 * GIB


def _drawn(count: int, log_size: int = GIB, pools: int = 2) -> list[DrawnCrash]:
    return drawn_crashes(log_size, count, pools, _MEMORY, seed="1")


def test_every_size_of_tables_and_every_stretch_of_ages_is_met_once() -> None:
    drawn = _drawn(7)
    assert sorted(each.tables for each in drawn) == [GIB // 8 * 2**octave for octave in range(7)]
    shares = sorted(each.age_share or 1.0 for each in drawn)
    edges = np.linspace(0.2, 1.0, 8)
    assert all(low <= share <= high for share, low, high in zip(shares, edges, [*edges[1:], 1.0], strict=False))


def test_what_rises_together_in_full_logs_is_drawn_apart() -> None:
    drawn = _drawn(60, pools=1)
    columns = np.log([[each.tables, each.age_share or 1.0, each.pools[0]] for each in drawn])
    apart = np.abs(np.corrcoef(columns.T)[np.triu_indices(3, 1)])
    # A pool is of at most what its redo needs four times over, so that it grows a little with the age.
    assert apart.max() < 0.5


@pytest.mark.parametrize("log_size", [64 * MIB, 256 * MIB, 8 * GIB])
def test_no_pool_is_beyond_what_there_is(log_size: int) -> None:
    for each in _drawn(20, log_size, pools=3):
        assert each.tables >= SMALLEST_DATASET
        assert all(SMALLEST_POOL <= pool <= _MEMORY for pool in (*each.pools, each.pool_under_load))
        assert list(each.pools) == sorted(set(each.pools))


@pytest.mark.thorough
def test_a_survey_sets_every_recovery_beside_its_prediction() -> None:
    asked = ("--log-size", "32M", "--workload", "bulk-update", "--crashes", "2", "--seed", "3")
    with run_of("survey", "--server", "mariadb-10.11", *asked) as run:
        assert run.record().state is RunState.COMPLETE
        rows = list(csv.DictReader((run.folder / "table.csv").open()))
    assert len({row["dataset_bytes"] for row in rows}) == 2
    assert len(rows) == 4
    assert all(float(row["ready_s"]) > 0 and float(row["predicted_s"]) > 0 for row in rows)
    # Statements that are under way at the limit may write a little beyond it, which shows in the smallest of logs.
    assert all(int(row["checkpoint_age_bytes"]) <= 1.2 * int(row["hard_limit_bytes"]) for row in rows)
