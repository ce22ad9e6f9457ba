"""Backups and crashes of a real MariaDB with a small log, restored both ways."""

from __future__ import annotations

import pytest

from experiments.prepare import Prepare, Way
from redolab.lab import native_folder
from redolab.machine import files
from redolab.project import PROJECT
from redolab.runs.schema import RunState
from redolab.runs.store import Run
from redolab.units import MIB
from tests.command import module_run, redolab

pytestmark = pytest.mark.server

SERVER = "mariadb-11.8"
# One client of short transactions: more redo than mariadb-backup copies meanwhile would overwrite a small log.
run = module_run(
    "prepare", "--server", SERVER, "--log-size", "48M", "--memory", "64M", "--repeat", "1", "--seed", "3",
    "--workload", "oltp_write_only", "--connections", "1",
)  # fmt: skip


def test_as_much_redo_is_applied_by_both(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    trials = {each.step.way: each.trial for each in Prepare.results(run)}
    assert set(trials) == set(Way)
    assert all(trial.restore_s > 0 and trial.backup_s > 0 for trial in trials.values())
    assert all(24 * MIB < trial.redo_bytes < 200 * MIB for trial in trials.values())
    assert trials[Way.PREPARE].backup_bytes > trials[Way.PREPARE].redo_bytes


@pytest.mark.parametrize("logs", ["backup-*.log", "*-prepare.log"])
def test_mariadb_backup_says_that_it_completed(run: Run, logs: str) -> None:
    (log,) = (run.folder / "logs").glob(logs)
    assert "completed OK!" in log.read_text()


def test_its_image_and_backup_go_with_their_group(run: Run) -> None:
    left = files.names(native_folder(PROJECT.lab) / "instances")
    assert [name for name in left if name.startswith(f"{SERVER}-48M-")] == []


def test_a_server_without_the_program_is_refused() -> None:
    done = redolab("run", "prepare", "--server", "mysql-9")
    assert done.returncode != 0
    assert len(done.stderr.splitlines()) == 1
