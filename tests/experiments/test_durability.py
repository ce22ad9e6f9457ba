"""Power cuts of a real server of each family, from the command to its tables."""

from __future__ import annotations

import csv
import signal
import time
from pathlib import Path

import pytest

from experiments.durability.trial import Cuts, DurabilityTrial
from redolab.machine import processes
from redolab.powercut.kept_cut import read_kept_cut
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from tests.command import lab_processes, nothing_is_left, redolab, signal_at

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


def _kept_cut(run: Run) -> Path:
    return next((run.folder / "evidence").glob("*/cut.json")).parent


def _check_kept(run: Run) -> None:
    kept = _kept_cut(run)
    story = read_kept_cut(kept)
    assert story.explanation.losses
    assert story.explanation.words
    again = redolab("recover", str(kept))
    assert again.returncode == 3, again.stderr
    assert "it is so again" in again.stderr


@pytest.mark.thorough
def test_the_power_is_cut_while_tables_are_defined() -> None:
    done = redolab(
        "run", "durability", "--server", "mariadb-10.11", "--trx-commit", "1", "--binary-log", "off", "--variation",
        "tables", "--states", "8", "--recordings", "1", "--seconds", "2s", "--seed", "5",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = RunStore().get("latest")
    try:
        rows = list(csv.DictReader((run.folder / "table.csv").open()))
        assert {row["variation"] for row in rows} == {"tables"}
        assert all(row["lost"] == "0" and row["failed_checks"] == "0" for row in rows)
    finally:
        RunStore().remove(run)
    nothing_is_left()


@pytest.mark.thorough
@pytest.mark.parametrize("server", ["mariadb-10.11", "mysql-9"])
def test_without_syncing_the_binary_log_a_replica_has_more_than_the_server(server: str) -> None:
    done = redolab(
        "run", "durability", "--server", server, "--trx-commit", "2", "--binary-log", "0", "--variation", "replica",
        "--states", "8", "--recordings", "1", "--seconds", "2s", "--seed", "6", "--explain", "0",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = RunStore().get("latest")
    try:
        rows = [row for row in csv.DictReader((run.folder / "table.csv").open()) if row["cuts"] != "killed"]
        assert any(int(row["only_on_replica"]) > 0 for row in rows)
    finally:
        RunStore().remove(run)
    nothing_is_left()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stage", "measured"), [("… recording mariadb", None), ("… checking 4", 0), ("… checking 1", 2)]
)
@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGKILL])
def test_stopped_anywhere_it_loses_no_more_than_the_states_at_hand(
    stage: str, measured: int | None, with_signal: signal.Signals
) -> None:
    known = {run.name for run in RunStore().all()}
    status, said = signal_at(
        stage, with_signal,
        (
            "run", "durability", "--server", "mariadb-10.11", "--trx-commit", "1", "--binary-log", "off", "--variation", "plain",
            "--states", "8", "--recordings", "1", "--seconds", "2s", "--seed", "5",
        ),
    )  # fmt: skip
    if with_signal is signal.SIGINT:
        assert status == 130, said
        nothing_is_left()
    else:
        deadline = time.monotonic() + 30
        while any("diskmodel" in line or "mariadbd" in line for line in lab_processes()):
            assert time.monotonic() < deadline, "something outlived the lab"
            time.sleep(0.05)
        done = redolab("rm", "none")
        assert "an earlier run was killed and left" in done.stdout
        nothing_is_left()
    new = [run for run in RunStore().all() if run.name not in known]
    if measured is None:
        # Nothing to go on with is no run.
        assert not new
        return
    (run,) = new
    try:
        assert len(run.trials(DurabilityTrial)) == measured
        before = (run.folder / "trials.jsonl").read_bytes() if measured else b""
        done = redolab("run", "durability", "--resume", run.name)
        assert done.returncode == 0, done.stderr
        assert run.record().state is RunState.COMPLETE
        assert (run.folder / "trials.jsonl").read_bytes().startswith(before)
        assert [record.trial.cuts for record in run.trials(DurabilityTrial)] == list(Cuts)[:3]
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
        assert redolab("recover", str(_kept_cut(run))).returncode == 3
    finally:
        RunStore().remove(run)
    nothing_is_left()


def test_a_folder_that_is_no_kept_cut_is_refused() -> None:
    done = redolab("recover", "/nowhere")
    assert done.returncode == 2
    assert "/nowhere is no power cut that was kept" in done.stderr


def test_a_binary_log_that_is_no_state_is_refused() -> None:
    done = redolab("run", "durability", "--binary-log", "sometimes")
    assert done.returncode != 0
    assert "'sometimes' is no state of the binary log: off, or a value of sync_binlog as in off,0,1" in done.stderr


@pytest.mark.parametrize("variation", ["encrypted", "machine-none"])
def test_what_only_runs_of_the_past_have_is_not_made(variation: str) -> None:
    done = redolab("run", "durability", "--variation", variation)
    assert done.returncode == 2
    assert variation in done.stderr


def test_a_replica_without_a_binary_log_is_refused() -> None:
    done = redolab("run", "durability", "--variation", "replica", "--binary-log", "off")
    assert done.returncode == 2
    assert "BINARYLOG=1" in done.stderr
