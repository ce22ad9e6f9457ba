"""The inflation experiment on real servers, small."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars
import pytest

from experiments.inflation.experiment import Conditions, Inflation, Inserts, Server
from experiments.inflation.report import counted_servers
from redolab.disks.loop import LoopDisk
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.machine import files
from redolab.machine.clean_up_journal import Journal
from redolab.project import PROJECT
from redolab.report.labels import server_label
from redolab.runs.estimate import Experience
from redolab.runs.execution import Execution
from redolab.runs.factors import read_factors
from redolab.runs.plan import Plan, draw_plan
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore, new_session
from redolab.servers.catalogue import server_catalogue
from redolab.servers.instance import UsedInstance
from redolab.servers.log_writer import Counted
from redolab.units import MIB
from tests.command import processes_in, redolab
from tests.examples import MACHINE
from tests.thorough import mostly_thorough

SMALL = (
    "run", "inflation", "--server", "mariadb-10.11", "--threads", "1", "--row-bytes", "100", "--rows", "1", "--log-size", "64M",
    "--repeat", "1",
)  # fmt: skip
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
"""As measured; a new server of the catalogue is one more line."""


@pytest.fixture(scope="module")
def has_device(tmp_path_factory: pytest.TempPathFactory) -> bool:
    """Whether this machine lets the lab have a block device of its own."""
    try:
        with LoopDisk.attached(tmp_path_factory.mktemp("trial") / "disk", 32 * MIB, None):
            return True
    except LabError:
        return False


@pytest.mark.parametrize("name", mostly_thorough(server_catalogue().names()))
def test_what_a_server_counts_is_told_from_what_it_did(
    name: str, lab: Lab, home: Path, tmp_path: Path, has_device: bool
) -> None:
    step = Inserts(threads=1, row_bytes=100, rows_per_transaction=1, seconds=1)
    group = Server(server=name, binary_log=False, trx_commit=1)
    conditions = Conditions(log_size=64 * MIB)
    plan: Plan[Server, Inserts, Conditions] = draw_plan(
        [[(group, [step])]], repeat=1, seed=1, conditions=conditions, keep=False
    )
    run = RunStore(tmp_path).create("inflation", {}, new_session(MACHINE, "", {}))
    run.write_plan(plan)
    Execution(lab, RunStore(tmp_path), run, Inflation(lab, plan), plan, Experience()).execute()
    (kept,) = (run.folder / "instances").iterdir()
    used = run.kept(kept.stem, UsedInstance)

    (counted,) = counted_servers(run)
    (cell,) = counted.cells
    assert counted.counted is MEANINGS[name]
    assert cell.error is not None
    # One second on a machine that may be busy: enough to tell the meanings apart, which are a factor of 3 from each other.
    assert abs(cell.error) < (0.02 if name == "mysql-5.6" else 0.2)
    (result,) = Inflation.results(run)
    trial = result.trial
    assert counted.label == server_label(name, trial.version)

    assert trial.commits > 50
    # One client: every commit is a write of its own, and on MySQL 8.0 and later up to two or three.
    assert 0.95 < trial.log_writes / trial.commits < 3.5
    assert used.variables["innodb_flush_log_at_trx_commit"] == "1"
    written = trial.grown("file_bytes")
    assert (written is not None) == (counted.counted is not Counted.LSN) == ("file layer" not in trial.why_blank)
    if written is not None:
        assert written > 0.995 * (trial.grown("os_log_written") or 0)
    assert (trial.device_ratio is not None) == has_device == ("device" not in trial.why_blank)
    if trial.device_ratio is not None:
        # Each commit is at least a block: of the file system, or of the device where the log is written past the page cache.
        past_the_cache = used.variables.get("innodb_log_file_buffering") == "OFF"
        assert past_the_cache == (counted.counted is Counted.LSN)
        per_commit = trial.lsn_bytes / trial.commits
        assert trial.device_ratio > (512 if past_the_cache else 4096) / per_commit * 0.95
    assert lab.journal.clear() == []


@pytest.fixture(scope="module")
def run() -> Run:
    """A run with two values of a factor."""
    before = {each.name for each in RunStore().all()}
    done = redolab(*SMALL, "--trx-commit", "1,2", "--binary-log", "off")
    assert done.returncode == 0, done.stderr
    (made,) = [each for each in RunStore().all() if each.name not in before]
    return made


def test_crossed_it_is_every_combination() -> None:
    given = {"trx_commit": "1,2", "threads": "1,4", "row_bytes": "10,100", "rows": "1", "binary_log": "off"}
    factors = Inflation.factors_type
    for cross, count in (("on", 8), ("off", 4)):
        cells = Inflation.cells(read_factors(factors, {**given, "server": "mysql-9", "cross": cross}))
        assert sum(len(set(steps)) for steps in cells.values()) == count


def test_each_value_is_measured_on_an_instance_of_its_own_and_is_in_table_and_plots(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    assert sorted(each.group.trx_commit for each in Inflation.results(run)) == [1, 2]
    assert processes_in(PROJECT.lab) == []
    frame = polars.read_parquet(run.folder / "table.parquet")
    assert frame.height == 2
    assert set(frame["server"]) == {"mariadb-10.11"}
    for name in ("ratio", "layers"):
        for ending in ("svg", "png"):
            assert (run.folder / "plots" / f"{name}.{ending}").stat().st_size > 5000
    assert len(list((run.folder / "instances").iterdir())) == 2
    assert len(list((run.folder / "logs").glob("*.log"))) == 2


@pytest.fixture
def interrupted() -> Iterator[Path]:
    """The lab's local storage, in which an interrupted run must leave nothing."""
    yield PROJECT.lab / "storage/local/instances"
    assert Journal(PROJECT.lab / "journal").clear() == []


def test_killed_the_next_command_takes_away_what_it_left(interrupted: Path) -> None:
    command = [sys.executable, "-m", "redolab", *SMALL]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=PROJECT.root) as process:
        data_file = "mariadb-10.11-inflation-*/data/ibdata1"
        deadline = time.monotonic() + 60
        while not list(interrupted.glob(data_file)) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert list(interrupted.glob(data_file))
    cleaned = redolab("rm", "none")
    assert cleaned.returncode == 2
    assert "cleaned up" in cleaned.stdout
    assert files.names(interrupted) == []
    assert processes_in(PROJECT.lab) == []
