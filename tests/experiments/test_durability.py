"""Power cuts of a real server of each family, from the command to its tables."""

from __future__ import annotations

import csv

import pytest

from redolab.machine import processes
from redolab.runs.schema import RunState
from redolab.runs.store import RunStore
from tests.command import nothing_is_left, redolab

pytestmark = pytest.mark.skipif(not processes.is_root(), reason="mounts need root")


@pytest.mark.parametrize("server", ["mariadb-10.11", "mysql-9"])
def test_a_server_that_syncs_loses_nothing_and_a_disk_that_ignores_flushes_everything(server: str) -> None:
    done = redolab(
        "run", "durability", "--server", server, "--trx-commit", "1", "--binary-log", "off", "--variation",
        "plain,ignores-flushes", "--states", "12", "--recordings", "1", "--seconds", "2s", "--seed", "4",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = RunStore().get("latest")
    try:
        assert run.record().state is RunState.COMPLETE
        rows = list(csv.DictReader((run.folder / "table.csv").open()))
        plain = [row for row in rows if row["variation"] == "plain"]
        control = [row for row in rows if row["variation"] == "ignores-flushes"]
        assert (len(plain), len(control)) == (12, 12)
        assert all(row["lost"] == "0" and row["holes"] == row["torn"] == row["wrong"] == "0" for row in plain)
        assert any(int(row["acknowledged"]) > 0 for row in plain)
        assert any(row["lost"] != "0" for row in control)
        assert len({row["state_hash"] for row in rows}) > 6
    finally:
        RunStore().remove(run)
    nothing_is_left()


def test_a_binary_log_that_is_no_state_is_refused() -> None:
    done = redolab("run", "durability", "--binary-log", "sometimes")
    assert done.returncode != 0
    assert "'sometimes' is no state of the binary log: off, or a value of sync_binlog as in off,0,1" in done.stderr
