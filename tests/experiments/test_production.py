"""A load that is crashed at random moments, from its command to its tables."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest

from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from tests.command import nothing_is_left, redolab

SERVER = "mariadb-10.11"
_CRASHES = 3


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    done = redolab(
        "run", "production", "--server", SERVER, "--log-size", "64M", "--workload", "oltp_write_only", "--warehouses", "1",
        "--crashes", str(_CRASHES), "--moment", "2s-8s", "--seed", "3",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = RunStore().get("latest")
    (made.folder / "said").write_text(done.stdout)
    yield made
    RunStore().remove(made)


@pytest.mark.thorough
def test_every_state_of_one_load_is_recovered_once(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    rows = list(csv.DictReader((run.folder / "table.csv").open()))
    assert len(rows) == _CRASHES
    moments = [float(row["crash_moment_s"]) for row in rows]
    assert len(set(moments)) == _CRASHES
    assert all(2 <= moment <= 8 for moment in moments)
    assert all(float(row["ready_s"]) > 0 for row in rows)
    # In recovery it has the pool that it had under load.
    assert {row["buffer_pool_bytes"] for row in rows} == {row["pool_under_load_bytes"] for row in rows}
    said = (run.folder / "said").read_text()
    assert "age, of the hard limit" in said
    assert "above the planned 95 %" in said
    nothing_is_left()


def test_moments_that_are_one_moment_are_refused() -> None:
    done = redolab("run", "production", "--moment", "5m-5m")
    assert done.returncode != 0
    assert "20 crashes cannot all come at one moment" in done.stderr
