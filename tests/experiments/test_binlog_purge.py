"""Purges of binary logs under load: effects computed from statements, and small purges on real servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.binlog_purge.experiment import (
    BinlogPurge,
    PreparedFiles,
    PurgeTrial,
    expiry,
    extents_in,
    purge_times,
)
from redolab.clock import now
from redolab.crash.bench.started_server import new_server
from redolab.errors import WorkloadFailed
from redolab.lab import Lab
from redolab.machine import processes
from redolab.machine.processes import Command
from redolab.runs.schema import RunState
from redolab.runs.store import RunStore, new_session
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.units import GIB, MIB
from redolab.workloads.paced import PacedRun, PacedStatement, paced_tables, paced_updates
from redolab.workloads.reporting import ReportingRun, no_report
from redolab.workloads.windows import commit_window
from tests.command import run_of
from tests.examples import MACHINE

pytestmark = pytest.mark.server

SMALL = ("binlog-purge", "--repeat", "1", "--seconds", "1s", "--seed", "1", "--storage", "local")


def steady(seconds: int) -> list[PacedStatement]:
    """A hundred statements a second from 0, each acknowledged 2 ms after it was due."""
    return [PacedStatement(due=number / 100, done=number / 100 + 0.002) for number in range(100 * seconds)]


def all_held(began: float, ended: float) -> list[PacedStatement]:
    """Ten seconds of such statements, none acknowledged between two times."""
    return [PacedStatement(due=each.due, done=ended) if began <= each.done < ended else each for each in steady(10)]


def trial(statements: Sequence[PacedStatement], removal: tuple[float, float]) -> PurgeTrial:
    """A purge at 5 s in ten seconds of these statements."""
    return PurgeTrial(
        version="5.5.9",
        asked_per_second=100.0,
        clients=16,
        files=PreparedFiles(bytes=(GIB, GIB), extents=(9, 11), cached_bytes=0, seconds=20.0),
        quiet=commit_window(statements, 0.0, 5.0),
        removing=commit_window(statements, 5.0, 10.0),
        removal=purge_times(statements, *removal, 10.0),
    )


def test_clients_that_are_all_held_wait_from_when_they_were_due() -> None:
    found = trial(all_held(5.0, 5.8), (5.0, 5.8))
    assert found.quiet.longest_wait_s == pytest.approx(0.002)
    assert found.quiet.waits_over_100ms == 0
    assert found.removing.longest_wait_s == pytest.approx(0.8)
    # Of the 80 that were due meanwhile, those of the last 100 ms waited less.
    assert found.removing.waits_over_100ms == pytest.approx(70, abs=1)
    assert found.removing.longest_without_commit_s == pytest.approx(0.8, abs=0.02)
    assert found.removing.commits[0] == pytest.approx(100, abs=1)
    assert found.removal.commits == 0
    assert found.removal.longest_without_commit_s == pytest.approx(0.808, abs=0.001)
    assert found.stood_still
    assert found.kept_up == pytest.approx(1.0, abs=0.01)


def test_one_client_that_waits_holds_up_no_other() -> None:
    statements = [PacedStatement(due=5.0, done=5.8) if each.due == 5.0 else each for each in steady(10)]
    found = trial(sorted(statements, key=lambda each: each.done), (5.0, 5.8))
    assert found.removing.longest_wait_s == pytest.approx(0.8)
    assert found.removing.waits_over_100ms == 1
    assert found.removal.commits == pytest.approx(80, abs=2)
    assert found.removal.longest_without_commit_s < 0.03
    assert not found.stood_still


def test_a_removal_that_is_over_between_two_commits_holds_nobody() -> None:
    found = trial(steady(10), (5.003, 5.006))
    assert found.removal.commits == 0
    assert found.removal.longest_without_commit_s == pytest.approx(0.01)
    assert found.removal.longest_within_s == pytest.approx(0.003)
    assert not found.is_long_enough
    assert not found.stood_still


def test_what_was_on_its_way_when_all_were_held_hides_no_standstill() -> None:
    found = trial(all_held(5.02, 5.8), (5.0, 5.8))
    assert found.removal.commits == 2
    assert found.removal.longest_within_s == pytest.approx(0.788, abs=0.001)
    assert found.stood_still
    # Half of a removal without a commit is another thing than a lock that is held for it.
    assert not trial(all_held(5.4, 5.8), (5.0, 5.8)).stood_still


def test_seconds_are_slow_below_half_of_what_is_usual() -> None:
    assert trial(steady(10), (5.0, 5.1)).details()["slow_seconds"] == 0
    # Held for two seconds and a half: two whole ones without a commit; then all that was due at once.
    assert trial(all_held(5.0, 7.5), (5.0, 7.5)).details()["slow_seconds"] == 2


def test_expiry_is_by_seconds_where_a_server_has_them_and_waits_for_no_replica() -> None:
    days, seconds, replicas = "expire_logs_days", "binlog_expire_logs_seconds", "slave_connections_needed_for_purge"
    assert expiry({days: "0"}) == {days: 1}
    assert expiry({days: "0", seconds: "0"}) == {seconds: 86_400}
    assert expiry({seconds: "0", replicas: "1"}) == {seconds: 86_400, replicas: 0}


@pytest.mark.parametrize(
    ("line", "extents"),
    [("binlog.000002: 14 extents found", 14), ("binlog.000002: 1 extent found", 1), ("FIBMAP: not supported", None)],
)
def test_extents_are_read_from_what_filefrag_says(line: str, extents: int | None) -> None:
    assert extents_in(line) == extents


def test_a_client_that_is_late_is_waited_for_and_half_a_line_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("1000000 1002000\n2000000 2003000\n")
    (tmp_path / "1").write_text("1500000 1501000\n2500000 25")
    process = processes.start(Command(["sleep", "20"]), tmp_path / "log")
    try:
        run = PacedRun(ReportingRun("sleep", process, no_report), tmp_path, 2)
        assert [round(each.waited * 1000) for each in run.statements()] == [2, 1, 3]
        run.wait_answered(1.5, 0.2, lambda: None)
        with pytest.raises(WorkloadFailed):
            run.wait_answered(2.0, 0.2, lambda: None)
    finally:
        process.stop()
    with pytest.raises(WorkloadFailed):
        run.wait(now().monotonic + 5, lambda: None)


def test_a_lock_that_holds_up_all_commits_is_seen(lab: Lab, mariadb: InstalledServer, tmp_path: Path) -> None:
    """The control: the effect of a purge that held a lock."""
    run = RunStore(tmp_path).create("binlog-purge", {}, new_session(MACHINE, "", {}))
    request = InstanceRequest(purpose=Purpose.PRODUCTION, log_size=64 * MIB, buffer_pool=64 * MIB)
    with new_server(lab, run, mariadb, request) as server:
        server.execute(*paced_tables(4))
        look = server.instance.check_running
        with paced_updates(lab.tools, server.instance.folder, tmp_path, clients=4, rate=100) as clients:
            clients.wait(now().monotonic + 1.5, look)
            server.execute("FLUSH TABLES WITH READ LOCK")
            locked = now().monotonic
            clients.wait(locked + 0.8, look)
            freed = now().monotonic
            server.execute("UNLOCK TABLES")
            clients.wait(freed + 0.5, look)
            clients.wait_answered(freed + 0.5, 30, look)
            statements = clients.statements()
    found = purge_times(statements, locked, freed, freed + 0.5)
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
        assert sorted(len(each.trial.files.bytes) for each in results) == [1, 4]
        for result in results:
            each = result.trial
            assert min(each.files.bytes) >= result.step.file_size_bytes
            assert sum(each.files.bytes) < 1.5 * 4 * MIB
            assert each.quiet.statements == pytest.approx(100, abs=15)
            assert each.removing.statements >= 85
            assert 0 < each.removal_s < 60
            assert each.quiet.longest_wait_s > 0
        assert (run.folder / "plots/waits.svg").stat().st_size > 5000


@pytest.mark.skipif(not processes.is_root(), reason="mounts need root")
@pytest.mark.thorough
def test_expired_files_go_at_a_rotation_on_a_file_system_of_their_own() -> None:
    files = ("--file-system", "ext4", "--file-size", "1M", "--purged", "3M", "--removal", "rotation")
    with run_of(*SMALL, "--server", "mysql-5.7", *files) as run:
        (result,) = BinlogPurge.results(run)
        assert result.group.file_system == "ext4"
        assert len(result.trial.files.bytes) == 3
        # Forgotten as root: nothing of them was left in the page cache.
        assert result.trial.files.cached_bytes in (0, None)
