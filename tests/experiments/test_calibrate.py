"""A calibration from its command to the file it leaves, and what `predict` and `size` make of that file."""

from __future__ import annotations

import csv
import json

import pytest

from redolab.predict.calibration import read_calibration
from redolab.runs.schema import RunState
from redolab.runs.store import Run
from redolab.units import MIB
from tests.command import module_run, redolab

pytestmark = [pytest.mark.server, pytest.mark.thorough]

SERVER = "mariadb-10.11"


run = module_run("calibrate", "--server", SERVER, "--log-size", "32M,64M", "--seed", "3")


def test_it_leaves_a_calibration_of_this_machine(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    found = read_calibration(run.folder / "calibration.json")
    assert list(found.servers) == [SERVER]
    assert {"bulk-update", "oltp_write_only"} <= set(found.servers[SERVER].workloads)
    assert found.servers[SERVER].workloads["bulk-update"].log_sizes == (32 * MIB, 64 * MIB)
    assert found.runs == (run.name,)
    assert found.machine == run.record().sessions[-1].machine
    assert found.storages["local"].disk.in_order_mb_s > 0


def test_the_run_says_what_a_large_log_would_take(run: Run) -> None:
    rows = list(csv.DictReader((run.folder / "table.csv").open()))
    assert {(row["storage"], int(row["log_size"]) >> 30) for row in rows} == {("local", 8), ("local", 64)}
    assert all(float(row["ready_s"]) > 0 for row in rows)


def test_predict_and_size_take_it_and_name_it(run: Run) -> None:
    file = str(run.folder / "calibration.json")
    asked = ("--server", SERVER, "--storage", file, "--pool", "1G", "--workload", "bulk-update")
    predicted = json.loads(redolab("predict", *asked, "--log-size", "1G", "--json").stdout)
    assert predicted["ready_s"] > 0
    assert predicted["ninety"]["low_s"] < predicted["ready_s"] < predicted["ninety"]["high_s"]
    assert any("64M" in warning for warning in predicted["warnings"])
    sized = redolab("size", *asked, "--redo-per-hour", "100M", "--rto", "1h")
    assert sized.returncode == 0, sized.stderr
