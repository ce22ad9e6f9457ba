"""Removing binary logs under load: what is worked out of statements, and small removals on real servers."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.binlog_purge.binary_logs import expiry, extents_in
from experiments.binlog_purge.factors import Factors
from experiments.binlog_purge.pages.binlog_purge import page, published
from experiments.binlog_purge.results import answer, results
from experiments.binlog_purge.trial import PreparedFiles, PurgeCell, PurgeTrial, Removal
from experiments.binlog_purge.waits import removal_times, stretch
from redolab.clock import now
from redolab.errors import InvalidInput, WorkloadFailed
from redolab.lab import Lab
from redolab.machine import processes
from redolab.machine.processes import Command
from redolab.runs.factors import read_factors
from redolab.runs.schema import RunState
from redolab.runs.store import RunStore
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance, prepare_folder
from redolab.units import GIB, MIB
from redolab.workloads.paced import PacedRun, PacedStatement, paced_tables, paced_updates
from tests.command import nothing_is_left, redolab

SMALL = ("run", "binlog-purge", "--repeat", "1", "--seconds", "1s", "--seed", "1", "--storage", "native")


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


def trial(statements: Sequence[PacedStatement], removal: tuple[float, float], size: int = GIB) -> PurgeTrial:
    """A removal at 5 s in ten seconds of these statements."""
    cell = PurgeCell(
        server="mysql-5.5",
        storage="native",
        file_system="ext4",
        removal=Removal.PURGE,
        file_size=size,
        purged=2 * GIB,
        cached=False,
    )
    return PurgeTrial(
        cell=cell,
        version="5.5.9",
        repeat=1,
        rate=100.0,
        clients=16,
        files=PreparedFiles(bytes=(GIB, GIB), extents=(9, 11), cached_bytes=0, seconds=20.0),
        quiet=stretch(statements, 0.0, 5.0),
        removing=stretch(statements, 5.0, 10.0),
        removal=removal_times(statements, *removal, 10.0),
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
    assert found.removal.commits == 0
    assert found.removal.longest_without_commit_s == pytest.approx(0.808, abs=0.001)
    assert found.stood_still
    assert found.kept_up == pytest.approx(1.0, abs=0.01)


def test_one_client_that_waits_holds_up_no_other() -> None:
    found = trial(one_held(steady(10), 5.0, 5.8), (5.0, 5.8))
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
    statements = all_held(steady(10), 5.02, 5.8)
    found = trial(statements, (5.0, 5.8))
    assert found.removal.commits == 2
    assert found.removal.longest_within_s == pytest.approx(0.788, abs=0.001)
    assert found.stood_still
    # Half of a removal without a commit is another thing than a lock that is held for it.
    assert not trial(all_held(steady(10), 5.4, 5.8), (5.0, 5.8)).stood_still


def test_seconds_are_slow_below_half_of_what_is_usual() -> None:
    assert trial(steady(10), (5.0, 5.1)).slow_seconds == 0
    # Held for two seconds and a half: two whole ones without a commit; then all that was due at once.
    assert trial(all_held(steady(10), 5.0, 7.5), (5.0, 7.5)).slow_seconds == 2


def test_the_answer_has_what_stood_still_and_the_longest_wait_of_each_size() -> None:
    held = trial(all_held(steady(10), 5.0, 5.8), (5.0, 5.8))
    free = trial(steady(10), (5.0, 5.02), 50 * MIB)
    said = answer(results([held, free]))
    assert re.match(
        r"In 2 removals of binary logs no time without a commit was longer than 80\d ms \(10(\.0)? ms before one\)\. ",
        said,
    )
    assert (
        "While files were removed, clients committed 2 transactions (82 in as long before), and stood still during 1 of the 2 "
        "removals that took long enough to show it. "
    ) in said
    assert re.search(r"Over 100 ms waited [1-9]\d* of [\d,]+ statements with a removal, 0 before one\.$", said)
    assert "up to 800 ms with files of 1G (MySQL 5.5.9 on native), where it was 2.0 ms before" in said
    assert "up to 2.0 ms with files of 50M" in said
    assert [each.cell.files_in_words for each in results([free, held])] == ["2 files of 1G", "40 files of 50M"]
    short = trial(steady(10), (5.003, 5.006))
    assert "stood still during none of the 1 removals, of 2, that" in answer(results([free, short]))
    assert "none of the 1 removals took long enough to show whether they stood still" in answer(results([short]))


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


def test_what_was_published_is_read() -> None:
    known = published()
    assert (known.file_size_before, known.file_size_after, known.file_system) == ("1G", "50M", "ext3")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"file_size": "3G"}, "a binary log file of 3G cannot be had"),
        ({"file_size": "4K"}, "a binary log file of 4K cannot be had"),
        ({"purged": "100M"}, "a file of 1G is more than the 100M that are removed"),
        ({"storage": "tmpfs"}, "the storage tmpfs is memory"),
        ({"storage": "cloud-ssd", "file_system": "as-is"}, "no file system of its own yet"),
        ({"seconds": "500ms"}, "are too short"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, str | None], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_factors(Factors, given).check()


def test_a_client_that_is_late_is_waited_for_and_half_a_line_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("1000000 1002000\n2000000 2003000\n")
    (tmp_path / "1").write_text("1500000 1501000\n2500000 25")
    process = processes.start(Command(["sleep", "20"]), tmp_path / "log")
    try:
        run = PacedRun(process, tmp_path, 2)
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
    assert stretch(statements, locked, freed).longest_wait_s > 0.6
    assert stretch(statements, locked, freed).waits_over_100ms > 30


def test_files_are_written_and_purged_without_root() -> None:
    done = redolab(
        *SMALL, "--server", "mariadb-10.11", "--file-system", "as-is", "--file-size", "4M,1M", "--purged", "4M", "--removal", "purge",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = RunStore().get("latest")
    try:
        assert run.record().state is RunState.COMPLETE
        trials = [record.trial for record in run.trials(PurgeTrial)]
        assert sorted(len(each.files.bytes) for each in trials) == [1, 4]
        for each in trials:
            assert all(size >= each.cell.file_size for size in each.files.bytes)
            assert sum(each.files.bytes) < 1.5 * each.cell.purged
            assert each.quiet.statements == pytest.approx(100, abs=15)
            assert each.removing.statements >= 85
            assert 0 < each.removal.seconds < 60
            assert each.quiet.longest_wait_s > 0
        rows = list(csv.DictReader((run.folder / "table.csv").open()))
        assert sorted(row["files"] for row in rows) == ["1", "4"]
        assert "MariaDB 10.11" in (run.folder / "table.txt").read_text()
        assert (run.folder / "plots/waits.svg").stat().st_size > 5000
        made = page([run])
        assert answer(results(trials)).split(".")[0] in made.text.replace("\n", " ")
        assert "1 to 2 s" in made.text
        assert "1 of 4M" in made.text
        assert "['" not in made.text
    finally:
        RunStore().remove(run)
    nothing_is_left()


@pytest.mark.skipif(not processes.is_root(), reason="mounts need root")
@pytest.mark.thorough
def test_expired_files_go_at_a_rotation_on_a_file_system_of_their_own() -> None:
    done = redolab(
        *SMALL, "--server", "mysql-5.7", "--file-system", "ext3", "--file-size", "1M", "--purged", "3M", "--removal", "rotation",
    )  # fmt: skip
    if "mounts no ext3" in done.stderr:
        pytest.skip("this kernel has no ext3")
    assert done.returncode == 0, done.stderr
    run = RunStore().get("latest")
    try:
        (record,) = run.trials(PurgeTrial)
        assert record.trial.cell.file_system == "ext3"
        assert len(record.trial.files.bytes) == 3
        # Forgotten as root: nothing of them was left in the page cache.
        assert record.trial.files.cached_bytes in (0, None)
    finally:
        RunStore().remove(run)
    nothing_is_left()
