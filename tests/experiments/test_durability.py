"""Power cuts of a real server of each family, from the command to its tables."""

from __future__ import annotations

import csv

import pytest

from redolab.machine import processes
from redolab.powercut.kept_cut import is_kept_cut, read_kept_cut
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from tests.command import nothing_is_left, redolab

pytestmark = pytest.mark.skipif(not processes.is_root(), reason="mounts need root")


@pytest.mark.parametrize("server", ["mariadb-10.11", "mysql-9"])
def test_a_server_that_syncs_loses_nothing_and_a_disk_that_ignores_flushes_everything(server: str) -> None:
    # How a cut is explained and kept is one for all: the quicker server shows it.
    is_explained = server == "mariadb-10.11"
    explained = ("--explain", "3", "--keep-cuts", "on") if is_explained else ("--explain", "0")
    done = redolab(
        "run", "durability", "--server", server, "--trx-commit", "1", "--binary-log", "off", "--variation",
        "plain,ignores-flushes", "--states", "8", "--recordings", "1", "--seconds", "2s", "--seed", "4", *explained,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = RunStore().get("latest")
    try:
        assert run.record().state is RunState.COMPLETE
        rows = list(csv.DictReader((run.folder / "table.csv").open()))
        plain = [row for row in rows if row["variation"] == "plain"]
        control = [row for row in rows if row["variation"] == "ignores-flushes"]
        # One of each is of SIGKILL alone.
        assert (len(plain), len(control)) == (9, 9)
        assert all(row["lost"] == "0" for row in rows if row["cuts"] == "killed")
        assert all(row["lost"] == "0" and row["holes"] == row["torn"] == row["wrong"] == "0" for row in plain)
        assert any(int(row["acknowledged"]) > 0 for row in plain)
        assert any(row["lost"] != "0" for row in control)
        assert len({row["state_hash"] for row in rows}) > 6
        if is_explained:
            _check_kept(run)
    finally:
        RunStore().remove(run)
    nothing_is_left()


def _check_kept(run: Run) -> None:
    (kept,) = [each for each in (run.folder / "evidence").iterdir() if is_kept_cut(each)][:1]
    story = read_kept_cut(kept)
    assert story.explanation.losses
    assert story.explanation.words
    again = redolab("recover", str(kept))
    assert again.returncode == 3, again.stderr
    assert "it is so again" in again.stderr


@pytest.mark.thorough
def test_the_power_is_cut_again_in_a_recovery_and_while_tables_are_defined() -> None:
    done = redolab(
        "run", "durability", "--server", "mariadb-10.11", "--trx-commit", "1", "--binary-log", "off", "--variation",
        "tables,twice", "--states", "8", "--recordings", "1", "--seconds", "2s", "--seed", "5",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = RunStore().get("latest")
    try:
        rows = list(csv.DictReader((run.folder / "table.csv").open()))
        assert {row["variation"] for row in rows} == {"tables", "twice"}
        assert all(row["lost"] == "0" and row["failed_checks"] == "0" for row in rows)
    finally:
        RunStore().remove(run)
    nothing_is_left()


@pytest.mark.thorough
def test_encrypted_tables_are_recovered() -> None:
    done = redolab(
        "run", "durability", "--server", "mariadb-11.8,mysql-9,mysql-5.5", "--trx-commit", "1", "--binary-log", "off",
        "--variation", "encrypted", "--states", "4", "--recordings", "1", "--seconds", "2s", "--seed", "6",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mysql-5.5, encrypted, is left out" in done.stdout
    run = RunStore().get("latest")
    try:
        rows = list(csv.DictReader((run.folder / "table.csv").open()))
        assert {row["server"] for row in rows} == {"mariadb-11.8", "mysql-9"}
        assert any(int(row["acknowledged"]) > 0 for row in rows)
        assert all(row["lost"] == "0" and row["failed_checks"] == "0" for row in rows)
    finally:
        RunStore().remove(run)
    nothing_is_left()


def test_a_power_cut_takes_the_partitions_of_a_table_of_mariadb_which_is_a_finding() -> None:
    """MariaDB does not sync the file that has them: found by this workload."""
    done = redolab(
        "run", "durability", "--server", "mariadb-10.11", "--trx-commit", "1", "--binary-log", "off", "--variation",
        "partitions", "--states", "8", "--recordings", "1", "--seconds", "2s", "--seed", "5",
    )  # fmt: skip
    run = RunStore().get("latest")
    try:
        assert done.returncode == 3, done.stderr
        rows = list(csv.DictReader((run.folder / "table.csv").open()))
        assert any(".par file" in row["misdefined"] for row in rows)
        assert all(row["lost"] == row["holes"] == row["torn"] == "0" for row in rows)
        kept = next(each for each in (run.folder / "evidence").iterdir() if is_kept_cut(each))
        assert redolab("recover", str(kept)).returncode == 3
    finally:
        RunStore().remove(run)
    nothing_is_left()


def test_a_folder_that_is_no_kept_cut_is_taken_for_an_image() -> None:
    done = redolab("recover", "/nowhere")
    assert done.returncode != 0
    assert "no crash image" in done.stderr


def test_a_binary_log_that_is_no_state_is_refused() -> None:
    done = redolab("run", "durability", "--binary-log", "sometimes")
    assert done.returncode != 0
    assert "'sometimes' is no state of the binary log: off, or a value of sync_binlog as in off,0,1" in done.stderr
