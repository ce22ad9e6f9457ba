"""Reads of servers that have just recovered, on a real server with a small log."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest

from experiments.first_reads import READS, Crash, FirstReads, Recovery
from redolab.lab import native_folder
from redolab.machine import files
from redolab.project import PROJECT
from redolab.runs.schema import RunState
from redolab.runs.store import Run
from tests.command import run_of

SERVER = "mariadb-11.8"
_SMALL = (
    "first-reads", "--server", SERVER, "--log-size", "48M", "--dataset", "64M", "--kill-after", "5s", "--dumped", "100",
    "--repeat", "1", "--seed", "3",
)  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with run_of(*_SMALL) as made:
        yield made


def test_the_same_rows_are_read_with_and_without_the_dump(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    rows = {row["loads"]: row for row in csv.DictReader((run.folder / "table.csv").open())}
    assert set(rows) == {"true", "false"}
    assert all(float(row["reads_s"]) > 0 and float(row["ready_s"]) > 0 for row in rows.values())
    said = (run.folder / "said").read_text()
    assert f"{READS:,} reads" in said
    assert "n=1 each" in said


def test_only_the_asked_recovery_loads_the_dump(run: Run) -> None:
    for result in FirstReads.results(run):
        (log,) = (run.folder / "logs").glob(f"{result.record.position + 1:03}-*.log")
        assert ("Loading buffer pool(s) from" in log.read_text()) == result.step.loads


def test_its_image_goes_with_its_group(run: Run) -> None:
    assert _images() == []


def test_a_server_that_dumps_all_pages_whatever_is_asked_has_no_share_to_compare() -> None:
    step = Recovery(loads=True)
    assert not FirstReads.exists(Crash(server="mysql-5.6", dumped=25), step)
    assert FirstReads.exists(Crash(server="mysql-5.7", dumped=25), step)


def _images() -> list[str]:
    """Crash images of this experiment that are kept."""
    return [name for name in files.names(native_folder(PROJECT.lab) / "images") if name.startswith(f"{SERVER}-48M-")]
