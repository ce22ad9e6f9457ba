"""Power cuts of a real server of each family, from the command to its tables."""

from __future__ import annotations

import csv
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.durability.experiment import Durability, DurabilityTrial
from redolab.machine import processes
from redolab.powercut.cuts import Cuts
from redolab.powercut.kept_cut import read_kept_cut
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from tests.command import nothing_is_left, redolab, run_of, signal_at, wait_until_servers_are_gone

pytestmark = [pytest.mark.server, pytest.mark.skipif(not processes.is_root(), reason="mounts need root")]


_MARIADB = ("durability", "--server", "mariadb-10.11", "--trx-commit", "1", "--binary-log", "off")
_SMALL = ("--states", "8", "--recordings", "1", "--seconds", "2s")
_FEWER = ("--states", "4", "--recordings", "1", "--seconds", "2s")


def _rows(run: Run) -> list[dict[str, str]]:
    return list(csv.DictReader((run.folder / "table.csv").open()))


def test_a_server_that_syncs_loses_nothing_and_a_disk_that_ignores_flushes_everything() -> None:
    cuts = (*_SMALL, "--explain", "3", "--keep-cuts", "on")
    with run_of(*_MARIADB, "--variation", "plain,ignores-flushes", *cuts, "--seed", "4") as run:
        assert run.record().state is RunState.COMPLETE
        rows = _rows(run)
        plain = [row for row in rows if row["variation"] == "plain"]
        control = [row for row in rows if row["variation"] == "ignores-flushes"]
        # One of each is of SIGKILL alone.
        assert len(plain) == len(control) == 9
        assert all(row["lost"] == "0" for row in rows if row["cuts"] == "killed")
        assert _nothing_is_lost(plain)
        assert any(row["lost"] != "0" for row in control)
        assert len({row["hash"] for row in rows}) > len(plain) / 2
        _check_kept(run)


def test_mysql_loses_nothing_either() -> None:
    asked = ("--server", "mysql-9", "--variation", "plain", *_FEWER, "--explain", "0", "--seed", "4")
    with run_of(*_MARIADB, *asked) as run:
        rows = _rows(run)
        assert len(rows) == 5
        assert _nothing_is_lost(rows)


def _nothing_is_lost(rows: Sequence[dict[str, str]]) -> bool:
    assert any(int(row["acknowledged"]) > 0 for row in rows)
    return all(row[fault] == "0" for row in rows for fault in ("lost", "holes", "torn", "wrong"))


def _kept_cut(run: Run) -> Path:
    return next((run.folder / "evidence").glob("*/cut.json")).parent


def _check_kept(run: Run) -> None:
    kept = _kept_cut(run)
    story = read_kept_cut(kept)
    assert story.explanation.losses
    assert story.explanation.words
    again = redolab("recover", str(kept))
    assert again.returncode == 3, again.stderr


def test_the_power_is_cut_while_a_server_stops_starts_and_recovers_and_while_xa_is_prepared() -> None:
    windows = "shutdown,start,recovery,first-start,xa"
    with run_of(*_MARIADB, "--variation", windows, *_FEWER, "--explain", "0", "--seed", "4") as run:
        assert run.record().state is RunState.COMPLETE
        rows = _rows(run)
        assert {row["variation"] for row in rows} == set(windows.split(","))
        assert _nothing_is_lost(rows)
        assert all(row["lost"] == "0" and row["failed_checks"] == "0" for row in rows)
        acknowledged = {row["variation"]: int(row["acknowledged"]) for row in rows}
        assert acknowledged.pop("first-start") == 0
        assert all(count > 0 for count in acknowledged.values())


@pytest.mark.thorough
def test_the_power_is_cut_while_tables_are_defined() -> None:
    with run_of(*_MARIADB, "--variation", "tables", *_SMALL, "--seed", "5") as run:
        rows = _rows(run)
        assert {row["variation"] for row in rows} == {"tables"}
        assert all(row["lost"] == "0" and row["failed_checks"] == "0" for row in rows)


@pytest.mark.thorough
@pytest.mark.parametrize("server", ["mariadb-10.11", "mysql-9"])
def test_without_syncing_the_binary_log_a_replica_has_more_than_the_server(server: str) -> None:
    asked = ("--trx-commit", "2", "--binary-log", "0", "--variation", "replica", "--seed", "6", "--explain", "0")
    with run_of("durability", "--server", server, *_SMALL, *asked) as run:
        assert any(int(row["only_on_replica"]) > 0 for row in _rows(run) if row["cuts"] != "killed")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stage", "measured"), [("… recording mariadb", None), ("… checking 4", 0), ("… checking 1", 2)]
)
@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGKILL])
def test_stopped_anywhere_it_loses_no_more_than_the_states_at_hand(
    stage: str, measured: int | None, with_signal: signal.Signals
) -> None:
    known = {run.name for run in RunStore().all()}
    status, said = signal_at(stage, with_signal, ("run", *_MARIADB, "--variation", "plain", *_SMALL, "--seed", "5"))
    if with_signal is signal.SIGINT:
        assert status == 130, said
    else:
        wait_until_servers_are_gone()
        redolab("rm", "none")
    assert nothing_is_left()
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
        assert [each.step.cuts for each in Durability.results(run)] == list(Cuts)[:3]
    finally:
        RunStore().remove(run)
    assert nothing_is_left()


def test_a_power_cut_takes_the_partitions_of_a_table_of_mariadb_which_is_a_finding() -> None:
    """MariaDB does not sync the file that has them: found by this workload."""
    with run_of(*_MARIADB, "--variation", "partitions", *_SMALL, "--seed", "5", status=3) as run:
        rows = _rows(run)
        assert any(".par file" in row["misdefined"] for row in rows)
        assert all(row["lost"] == row["holes"] == row["torn"] == "0" for row in rows)
        assert redolab("recover", str(_kept_cut(run))).returncode == 3
