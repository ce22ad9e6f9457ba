"""Reads of servers that have just recovered, on a real server with a small log."""

from __future__ import annotations

import csv

import pytest

from experiments.first_reads import Crash, FirstReads, Recovery
from redolab.lab import native_folder
from redolab.machine import files
from redolab.project import PROJECT
from redolab.runs.schema import RunState
from redolab.runs.store import Run
from tests.command import module_run

pytestmark = pytest.mark.server

SERVER = "mariadb-11.8"
run = module_run(
    "first-reads", "--server", SERVER, "--log-size", "48M", "--dataset", "64M", "--kill-after", "5s", "--dumped", "100",
    "--repeat", "1", "--seed", "3",
)  # fmt: skip


def test_the_same_rows_are_read_with_and_without_the_dump(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    rows = {row["loads"]: row for row in csv.DictReader((run.folder / "table.csv").open())}
    assert set(rows) == {"true", "false"}
    assert all(float(row["reads_s"]) > 0 and float(row["ready_s"]) > 0 for row in rows.values())


def test_only_the_asked_recovery_loads_the_dump(run: Run) -> None:
    for result in FirstReads.results(run):
        (log,) = (run.folder / "logs").glob(f"{result.record.position + 1:03}-*.log")
        assert ("Loading buffer pool(s) from" in log.read_text()) == result.step.loads


def test_its_image_goes_with_its_group(run: Run) -> None:
    names = files.names(native_folder(PROJECT.lab) / "images")
    assert [name for name in names if name.startswith(f"{SERVER}-48M-")] == []


def test_a_server_that_dumps_all_pages_whatever_is_asked_has_no_share_to_compare() -> None:
    step = Recovery(loads=True)
    assert not FirstReads.exists(Crash(server="mysql-5.6", dumped=25), step)
    assert FirstReads.exists(Crash(server="mysql-5.7", dumped=25), step)
