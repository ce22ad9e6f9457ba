"""Removing binary logs under load: what is worked out of statements, and small removals on real servers."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.binlog_purge.experiment import (
    BinlogPurge,
    PreparedFiles,
    PurgeTrial,
    expiry,
    extents_in,
    removal_times,
)
from redolab.clock import now
from redolab.errors import WorkloadFailed
from redolab.lab import Lab
from redolab.machine import processes
from redolab.machine.processes import Command
from redolab.runs.schema import RunState
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance, prepare_folder
from redolab.units import GIB, MIB
from redolab.workloads.paced import PacedRun, PacedStatement, paced_tables, paced_updates
from redolab.workloads.reporting import ReportingRun, no_report
from redolab.workloads.windows import commit_window
from tests.command import run_of

SMALL = ("binlog-purge", "--repeat", "1", "--seconds", "1s", "--seed", "1", "--storage", "local")


def steady(seconds: int) -> list[PacedStatement]:
    """A hundred statements a second from 0, each acknowledged 2 ms after it was due."""
    return [PacedStatement(due=number / 100, done=number / 100 + 0.002) for number in range(100 * seconds)]


def all_held(statements: Sequence[PacedStatement], began: float, ended: float) -> list[PacedStatement]:
    """The same where nothing is acknowledged from one moment to another."""
    return [PacedStatement(due=each.due, done=ended) if began <= each.done < ended else each for each in statements]


def one_held(statements: Sequence[PacedStatement], began: float, ended: float) -> list[PacedStatement]:
    """The same where the first statement due then waits, and no other."""
    first = next(each for each in statements if each.due >= began)
    others = [each for each in statements if each is not first]
    return sorted([*others, PacedStatement(due=first.due, done=ended)], key=lambda each: each.done)


def trial(statements: Sequence[PacedStatement], removal: tuple[float, float]) -> PurgeTrial:
    """A removal at 5 s in ten seconds of these statements."""
    return PurgeTrial(
        version="5.5.9",
        asked_per_second=100.0,
        clients=16,
        lying=PreparedFiles(bytes=(GIB, GIB), extents=(9, 11), cached_bytes=0, seconds=20.0),
        quiet=commit_window(statements, 0.0, 5.0),
        removing=commit_window(statements, 5.0, 10.0),
        removal_times=removal_times(statements, *removal, 10.0),
    )


def test_clients_that_are_all_held_wait_from_when_they_were_due() -> None:
    found = trial(all_held(steady(10), 5.0, 5.8), (5.0, 5.8))
    assert found.quiet.longest_wait_s == pytest.approx(0.002)
    assert found.quiet.waits_over_100ms == 0
    assert found.removing.longest_wait_s == pytest.approx(0.8)
    # Of the 80 that were due meanwhile, those of the last 100 ms waited less.
    assert found.removing.waits_over_100ms == pytest.approx(70, abs=1)
    assert found.removing.longest_without_commit_s == pytest.approx(0.8, abs=0.02)
    assert found.removing.commits[0] == pytest.approx(100, abs=1)
    assert found.removal_times.commits == 0
    assert found.removal_times.longest_without_commit_s == pytest.approx(0.808, abs=0.001)
    assert found.stood_still
    assert found.kept_up == pytest.approx(1.0, abs=0.01)


def test_one_client_that_waits_holds_up_no_other() -> None:
    found = trial(one_held(steady(10), 5.0, 5.8), (5.0, 5.8))
    assert found.removing.longest_wait_s == pytest.approx(0.8)
    assert found.removing.waits_over_100ms == 1
    assert found.removal_times.commits == pytest.approx(80, abs=2)
    assert found.removal_times.longest_without_commit_s < 0.03
    assert not found.stood_still


def test_a_removal_that_is_over_between_two_commits_holds_nobody() -> None:
    found = trial(steady(10), (5.003, 5.006))
    assert found.removal_times.commits == 0
    assert found.removal_times.longest_without_commit_s == pytest.approx(0.01)
    assert found.removal_times.longest_within_s == pytest.approx(0.003)
    assert not found.is_long_enough
    assert not found.stood_still


def test_what_was_on_its_way_when_all_were_held_hides_no_standstill() -> None:
    statements = all_held(steady(10), 5.02, 5.8)
    found = trial(statements, (5.0, 5.8))
    assert found.removal_times.commits == 2
    assert found.removal_times.longest_within_s == pytest.approx(0.788, abs=0.001)
    assert found.stood_still
    # Half of a removal without a commit is another thing than a lock that is held for it.
    assert not trial(all_held(steady(10), 5.4, 5.8), (5.0, 5.8)).stood_still


def test_seconds_are_slow_below_half_of_what_is_usual() -> None:
    assert trial(steady(10), (5.0, 5.1)).details()["slow_seconds"] == 0
    # Held for two seconds and a half: two whole ones without a commit; then all that was due at once.
    assert trial(all_held(steady(10), 5.0, 7.5), (5.0, 7.5)).details()["slow_seconds"] == 2


def test_expiry_is_by_seconds_where_a_server_has_them_and_waits_for_no_replica() -> None:
    assert expiry({"expire_logs_days": "0"}) == {"expire_logs_days": 1}
    assert expiry({"expire_logs_days": "0", "binlog_expire_logs_seconds": "0"}) == {
        "binlog_expire_logs_seconds": 86_400
    }
    newest = {"binlog_expire_logs_seconds": "0", "slave_connections_needed_for_purge": "1"}
    assert expiry(newest) == {"binlog_expire_logs_seconds": 86_400, "slave_connections_needed_for_purge": 0}


def test_extents_are_read_from_what_filefrag_says() -> None:
    assert extents_in("/data/binlog.000002: 14 extents found\n") == 14
    assert extents_in("/data/binlog.000002: 1 extent found\n") == 1
    assert extents_in("FIBMAP: Operation not supported\n") is None


def test_a_client_that_is_late_is_waited_for_and_half_a_line_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("1000000 1002000\n2000000 2003000\n")
    (tmp_path / "1").write_text("1500000 1501000\n2500000 25")
    process = processes.start(Command(["sleep", "20"]), tmp_path / "log")
    try:
        run = PacedRun(ReportingRun("sleep", process, no_report), tmp_path, 2)
        assert [round(each.waited * 1000) for each in run.statements()] == [2, 1, 3]
        run.wait_answered(1.5, 0.2, lambda: None)
        with pytest.raises(WorkloadFailed, match="behind by more than"):
            run.wait_answered(2.0, 0.2, lambda: None)
    finally:
        process.stop()
    with pytest.raises(WorkloadFailed, match="ended by itself"):
        run.wait(now().monotonic + 5, lambda: None)


def test_a_lock_that_holds_up_all_commits_is_seen(
    lab: Lab, home: Path, mariadb: InstalledServer, tmp_path: Path
) -> None:
    """The control: what a removal under a lock would look like."""
    folder = home / "instances/paced"
    request = InstanceRequest(purpose=Purpose.PRODUCTION, log_size=64 * MIB, buffer_pool=64 * MIB)
    with lab.journal.making(folder, "an instance of a test"):
        prepare_folder(mariadb, folder)
        initialise(mariadb, folder, request)
        with Instance.start(mariadb, folder, request, tmp_path / "log") as instance:
            instance.wait_ready()
            with instance.connections.connect() as connection, connection.cursor() as cursor:
                for statement in paced_tables(4):
                    cursor.execute(statement)
                with paced_updates(lab.tools, folder, tmp_path, clients=4, rate=100) as clients:
                    began = now().monotonic + 1.5
                    clients.wait(began, instance.check_running)
                    cursor.execute("FLUSH TABLES WITH READ LOCK")
                    locked = now().monotonic
                    clients.wait(locked + 0.8, instance.check_running)
                    freed = now().monotonic
                    cursor.execute("UNLOCK TABLES")
                    clients.wait(freed + 0.5, instance.check_running)
                    clients.wait_answered(freed + 0.5, 30, instance.check_running)
                    statements = clients.statements()
    found = removal_times(statements, locked, freed, freed + 0.5)
    assert found.commits == 0
    assert found.longest_without_commit_s >= freed - locked
    # The first that was due under the lock waited for nearly all of it.
    assert commit_window(statements, locked, freed).longest_wait_s > 0.6
    assert commit_window(statements, locked, freed).waits_over_100ms > 30


def test_files_are_written_and_purged_without_root() -> None:
    files = ("--file-system", "as-is", "--file-size", "4M,1M", "--purged", "4M", "--removal", "purge")
    with run_of(*SMALL, "--server", "mariadb-10.11", *files) as run:
        assert run.record().state is RunState.COMPLETE
        results = BinlogPurge.results(run)
        trials = [each.trial for each in results]
        assert sorted(len(each.lying.bytes) for each in trials) == [1, 4]
        for result in results:
            each = result.trial
            assert all(size >= result.step.file_size_bytes for size in each.lying.bytes)
            assert sum(each.lying.bytes) < 1.5 * 4 * MIB
            assert each.quiet.statements == pytest.approx(100, abs=15)
            assert each.removing.statements >= 85
            assert 0 < each.removal_s < 60
            assert each.quiet.longest_wait_s > 0
        rows = list(csv.DictReader((run.folder / "table.csv").open()))
        assert sorted(row["files"] for row in rows) == ["1", "4"]
        assert (run.folder / "plots/waits.svg").stat().st_size > 5000


@pytest.mark.skipif(not processes.is_root(), reason="mounts need root")
@pytest.mark.thorough
def test_expired_files_go_at_a_rotation_on_a_file_system_of_their_own() -> None:
    files = ("--file-system", "ext4", "--file-size", "1M", "--purged", "3M", "--removal", "rotation")
    with run_of(*SMALL, "--server", "mysql-5.7", *files) as run:
        (result,) = BinlogPurge.results(run)
        assert result.group.file_system == "ext4"
        assert len(result.trial.lying.bytes) == 3
        # Forgotten as root: nothing of them was left in the page cache.
        assert result.trial.lying.cached_bytes in (0, None)
