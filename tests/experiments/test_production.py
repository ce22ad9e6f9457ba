"""A load that is crashed at random moments, from its command to its tables."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
import time

import pytest

from redolab.project import PROJECT
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from tests.command import nothing_is_left, redolab, run_of, wait_until_servers_are_gone

pytestmark = pytest.mark.server

_CRASHES = 3
_SMALL = (
    "production", "--server", "mariadb-10.11", "--log-size", "64M", "--workload", "oltp_write_only", "--warehouses", "1",
)  # fmt: skip


@pytest.mark.thorough
def test_every_state_of_one_load_is_recovered_once() -> None:
    with run_of(*_SMALL, "--crashes", str(_CRASHES), "--moment", "2s-8s", "--seed", "3") as run:
        assert run.record().state is RunState.COMPLETE
        rows = list(csv.DictReader((run.folder / "table.csv").open()))
        # All are the run's own, to be removed like any: also those that the first group's load made for the others.
        assert all(group.made for group in run.groups().values())
    assert len(rows) == _CRASHES
    moments = [float(row["crash_moment_s"]) for row in rows]
    assert len(set(moments)) == _CRASHES
    assert all(2 <= moment <= 8 for moment in moments)
    assert all(float(row["ready_s"]) > 0 for row in rows)
    # In recovery it has the pool that it had under load.
    assert {row["buffer_pool_bytes"] for row in rows} == {row["pool_under_load_bytes"] for row in rows}


@pytest.mark.thorough
def test_a_lab_that_is_killed_in_a_load_knows_of_the_states_that_it_had_made() -> None:
    arguments = ["run", *_SMALL, "--crashes", "8", "--moment", "2s-90s", "--seed", "4"]
    with subprocess.Popen(
        [sys.executable, "-m", "redolab", *arguments], stdout=subprocess.DEVNULL, cwd=PROJECT.root
    ) as process:
        deadline = time.monotonic() + 240
        while not (made := [each for each in _running() if each.group_records()]):
            assert process.poll() is None
            assert time.monotonic() < deadline, "no state was made"
            time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
    wait_until_servers_are_gone()
    (run,) = made
    states = {group.name for group in run.group_records()}
    removed = redolab("rm", run.name)
    assert removed.returncode == 0, removed.stderr
    assert all(name in removed.stdout for name in states)
    nothing_is_left()


def _running() -> list[Run]:
    return [run for run in RunStore().all() if run.record().state is RunState.RUNNING]
