"""The inflation experiment on real servers, small."""

from __future__ import annotations

from contextlib import AbstractContextManager

import polars
import pytest

from experiments.inflation.experiment import Inflation
from experiments.inflation.report import counter_evidence
from redolab.disks.loop import LoopDisk
from redolab.errors import LabError
from redolab.report.labels import server_label
from redolab.runs.factors import read_factors
from redolab.runs.schema import RunState
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue
from redolab.servers.log_writer import Counted
from redolab.units import MIB
from tests.command import run_of, used_instance
from tests.thorough import mostly_thorough

pytestmark = pytest.mark.server

MEANINGS = {
    "mysql-5.5": Counted.BLOCKS,
    "mysql-5.6": Counted.BLOCKS,
    "mysql-5.7": Counted.BLOCKS_AND_PADDING,
    "mysql-8.0": Counted.BLOCKS,
    "mysql-9": Counted.BLOCKS,
    "mariadb-10.2": Counted.BLOCKS_AND_PADDING,
    "mariadb-10.5": Counted.BLOCKS_AND_PADDING,
    "mariadb-10.11": Counted.LSN,
    "mariadb-11.4": Counted.LSN,
    "mariadb-11.8": Counted.LSN,
}
"""Server → what its counter counts, as measured; a new server of the catalogue is one more line."""


@pytest.fixture(scope="module")
def has_device(tmp_path_factory: pytest.TempPathFactory) -> bool:
    """Return True if this machine lets the lab have a block device of its own."""
    try:
        with LoopDisk.attached(tmp_path_factory.mktemp("trial") / "disk", 32 * MIB, None):
            return True
    except LabError:
        return False


def small_run(server: str, trx_commit: str) -> AbstractContextManager[Run]:
    return run_of(
        "inflation", "--server", server, "--threads", "1", "--row-bytes", "100", "--rows", "1", "--log-size", "64M",
        "--trx-commit", trx_commit, "--binary-log", "off", "--repeat", "1",
    )  # fmt: skip


@pytest.mark.parametrize("name", mostly_thorough(server_catalogue().names()))
def test_what_a_server_counts_is_found_from_its_counters(name: str, has_device: bool) -> None:
    with small_run(name, "1") as run:
        (kept,) = (run.folder / "instances").iterdir()
        variables = used_instance(run, kept.stem).variables
        (counted,) = counter_evidence(run)
        (result,) = Inflation.results(run)
    (cell,) = counted.cells
    assert counted.counted is MEANINGS[name]
    assert cell.error is not None
    # One second on a machine that may be busy is enough: the meanings differ by a factor of 3.
    assert abs(cell.error) < (0.02 if name == "mysql-5.6" else 0.2)
    trial = result.trial
    assert counted.label == server_label(name, trial.version)

    assert trial.commits > 50
    # One client: every commit is a write of its own, and on MySQL 8.0 and later up to two or three.
    assert 0.95 < trial.log_writes / trial.commits < 3.5
    assert variables["innodb_flush_log_at_trx_commit"] == "1"
    written = trial.grown("file_bytes")
    assert (written is not None) == (counted.counted is not Counted.LSN) == ("file layer" not in trial.why_blank)
    if written is not None:
        assert written > 0.995 * (trial.grown("os_log_written") or 0)
    assert (trial.device_ratio is not None) == has_device == ("device" not in trial.why_blank)
    if trial.device_ratio is not None:
        # Each commit is at least a block: of the file system, or of the device where the log is written past the page cache.
        past_the_cache = variables.get("innodb_log_file_buffering") == "OFF"
        assert past_the_cache == (counted.counted is Counted.LSN)
        per_commit = trial.lsn_bytes / trial.commits
        assert trial.device_ratio > (512 if past_the_cache else 4096) / per_commit * 0.95


def test_crossed_it_is_every_combination() -> None:
    given = {"trx_commit": "1,2", "threads": "1,4", "row_bytes": "10,100", "rows": "1", "binary_log": "off"}
    factors = Inflation.factors_type
    for cross, count in (("on", 8), ("off", 4)):
        cells = Inflation.cells(read_factors(factors, {**given, "server": "mysql-9", "cross": cross}))
        assert sum(len(set(steps)) for steps in cells.values()) == count


def test_each_value_is_measured_on_an_instance_of_its_own_and_is_in_table_and_plots() -> None:
    with small_run("mariadb-10.11", "1,2") as run:
        assert run.record().state is RunState.COMPLETE
        assert sorted(each.group.trx_commit for each in Inflation.results(run)) == [1, 2]
        assert polars.read_parquet(run.folder / "table.parquet").height == 2
        assert {each.stem for each in (run.folder / "plots").iterdir()} == {"ratio", "layers"}
        assert len(list((run.folder / "instances").iterdir())) == 2
        assert len(list((run.folder / "logs").glob("*.log"))) == 2
