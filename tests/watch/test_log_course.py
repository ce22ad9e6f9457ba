"""How far a recovery has come by its log: real logs, line by line as they arrived."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from redolab.crash.recovery.replays import course_of, replays_in
from redolab.errorlog.kinds import Phase
from redolab.errorlog.start import Start
from redolab.results.committed import FOLLOWED
from redolab.runs.pages import measured_runs
from redolab.watch.following.log_course import LogCourse
from redolab.watch.following.time_left import Knows

REPLAYS = replays_in(run for folder in FOLLOWED for run in measured_runs(folder))
SERVERS = sorted({each.server for each in REPLAYS})
assert len(SERVERS) >= 8


def heard(lines: Sequence[str], log: LogCourse | None = None, since: float = 0.0) -> LogCourse:
    """A second after the other."""
    log = log or LogCourse()
    for number, line in enumerate(lines):
        log.hear_line(line, since + number)
    return log


def started(log: LogCourse) -> Start:
    """Return the start at hand."""
    assert log.start is not None
    return log.start


@pytest.mark.parametrize("server", SERVERS)
def test_a_recovery_gets_on_and_ends_where_the_lab_says(server: str) -> None:
    for replay in [each for each in REPLAYS if each.server == server][:5]:
        moments = [replay.ready * share / 20 for share in range(1, 21)]
        logs = replay.logs_at([*moments, replay.ready + 1])
        done = [next(logs).done(moment, replay.redo) for moment in moments]
        for before, after in itertools.pairwise(done):
            assert after.read >= before.read
            assert (after.applied or 0) >= (before.applied or 0) - 1
            assert after.reading_s + after.applying_s <= after.elapsed + 1e-6
        end = next(logs)
        assert end.ready is not None
        assert end.ready == pytest.approx(replay.ready, abs=0.5)
        assert started(end).redo.phase is Phase.ROLLBACK
        if replay.redo is not None:
            assert end.done(end.ready).read <= replay.redo * 1.001


def test_all_servers_whose_log_tells_how_much_redo_there_was_are_learnt_from() -> None:
    learnt = {each.server for each in REPLAYS if course_of(each) is not None}
    assert {"mysql-9", "mysql-5.7", "mariadb-10.11", "mariadb-11.8"} <= learnt


def test_mysql_shows_percents_of_a_batch() -> None:
    log = heard(
        [
            "2026-11-21T09:00:00.000000Z 0 [Note] InnoDB: Log scan progressed past the checkpoint lsn 1000000",
            "2026-11-21T09:00:01.000000Z 0 [Note] InnoDB: Doing recovery: scanned up to log sequence number 3000000",
            "2026-11-21T09:00:02.000000Z 0 [Note] InnoDB: Starting an apply batch of log records to the database...",
            "InnoDB: Progress in percent: 10 20 30 ",
        ]
    )
    done = log.done(5.0)
    assert started(log).redo.percent == 30
    assert (done.read, done.complete, done.knows) == (2_000_000, 0.0, Knows.APPLYING_SHARE)
    assert done.applied == pytest.approx(600_000)
    assert (done.applying_s, done.unseen_s, done.in_batch_s) == (3.0, 2.0, 3.0)


def test_mariadb_shows_pages_that_are_left() -> None:
    log = heard(
        [
            "2026-11-21  9:00:00 0 [Note] InnoDB: Starting crash recovery from checkpoint LSN=1000000",
            "2026-11-21  9:00:01 0 [Note] InnoDB: End of log at LSN=3097152",
            "2026-11-21  9:00:01 0 [Note] InnoDB: To recover: 8000 pages",
            "2026-11-21  9:00:16 0 [Note] InnoDB: To recover: 2000 pages",
        ]
    )
    done = log.done(4.0)
    assert done.total == 2_097_152
    assert done.applied == pytest.approx(0.75 * 2_097_152)
    assert done.pages_a_mib == pytest.approx(4000)


def test_a_server_without_notes_is_in_accept_once_it_recovers_its_binary_log() -> None:
    lines = [
        "2026-11-21T09:00:00.000000Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 8.0.15) starting as process 7",
        "2026-11-21T09:00:09.000000Z 0 [Note] [MY-010855] [Server] Recovering after a crash using binlog",
        "2026-11-21T09:00:10.000000Z 0 [System] [MY-010931] [Server] /usr/sbin/mysqld: ready for connections. Version: '8.0.15'",
    ]
    assert started(heard(lines[:2])).redo.phase is Phase.ACCEPT
    assert started(heard(lines)).redo.phase is Phase.ROLLBACK


def test_another_start_begins_anew() -> None:
    """One that died while it recovered said nothing of its end."""
    first = [
        "2026-11-21T09:00:00.000000Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 9.7.4) starting as process 77",
        "2026-11-21T09:00:01.000000Z 1 [System] [MY-013576] [InnoDB] InnoDB initialization has started.",
        "2026-11-21T09:00:02.000000Z 1 [Note] [MY-012550] [InnoDB] Doing recovery: scanned up to log sequence number 900",
    ]
    log = heard(first)
    assert log.recovers
    heard(first[:2], log, since=60.0)
    assert not log.recovers
    assert (log.began, started(log).version) == (60.0, "9.7.4")


def test_how_a_server_ended_is_known_whatever_was_before() -> None:
    ready = "2026-11-21T09:00:00.000000Z 0 [System] [MY-010931] [Server] /usr/sbin/mysqld: ready for connections. Version: '9.7.4'"
    log = heard([ready, "2026-11-21T09:00:00Z UTC - mysqld got signal 11 ;"])
    assert log.writer.ended == "server crashed (signal 11)"


def test_a_page_dump_is_no_percent_and_takes_no_time() -> None:
    """InnoDB prints pages that are corrupt as hundreds of digits."""
    log = heard(
        [
            "2026-11-21T09:00:01.000000Z 0 [Note] InnoDB: Doing recovery: scanned up to log sequence number 3000000",
            "2026-11-21T09:00:02.000000Z 0 [Note] InnoDB: Starting an apply batch of log records to the database...",
            " len 16384; hex " + "0" * 400 + ";",
            "2026-11-21T09:00:03.000000Z 0 [Note] InnoDB: Page may be an index page where index id is 55",
        ]
    )
    assert started(log).redo.percent is None


def test_the_percents_of_a_line_that_has_no_end_yet_are_shown() -> None:
    log = heard(
        ["2026-11-21T09:00:02.000000Z 0 [Note] InnoDB: Starting an apply batch of log records to the database..."]
    )
    log.hear_unfinished("InnoDB: Progress in percent: 0 1 2 17")
    assert started(log).redo.percent == 17
    # How long still is judged by whole lines.
    assert log.done(9.0).applied == log.done(9.0).complete


_BEFORE = [
    "2026-11-26T19:24:14.099667Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 9.7.4-2) starting as process 2",
    "2026-11-26T19:24:14.151000Z 1 [Note] [MY-012203] [InnoDB] Directories to scan './'",
    "2026-11-26T19:24:14.714414Z 1 [Note] [MY-012207] [InnoDB] Using 3 threads to scan 20020 tablespace files",
    "2026-11-26T19:24:24.722445Z 0 [Note] [MY-012200] [InnoDB] Thread# 0 - Checked 406/10010 files",
    "2026-11-26T19:24:24.733556Z 0 [Note] [MY-012200] [InnoDB] Thread# 1 - Checked 394/10010 files",
]
_RECOVERS = [
    "2026-11-26T19:28:31.227588Z 1 [Note] [MY-012208] [InnoDB] Completed space ID check of 20022 files.",
    "2026-11-26T19:28:31.746997Z 1 [Note] [MY-013883] [InnoDB] The latest found checkpoint is at lsn = 420357600 in redo log file x.",
    "2026-11-26T19:28:31.755852Z 1 [Note] [MY-012552] [InnoDB] Starting crash recovery.",
]
_VALIDATES = [
    "2026-11-26T19:29:30.150201Z 0 [Note] [MY-012350] [InnoDB] 2threads have validated 1274 out of 20024 tablespaces so far.",
    "2026-11-26T19:29:40.160414Z 0 [Note] [MY-012350] [InnoDB] 2threads have validated 2546 out of 20024 tablespaces so far.",
]


def test_mysql_counts_its_tablespace_files_before_it_recovers_and_after() -> None:
    """Lines of a real recovery with 20,000 tables on a slow disk."""
    log = heard(_BEFORE)
    assert not log.recovers
    seen = started(log).files.seen(4.0)
    assert seen is not None
    # A line a second here: 800 files in 2 s, of which one thread's last line came a second before.
    assert (seen.validates, seen.done, seen.of, seen.rate) == (False, 800, 20020, 400.0)
    assert seen.left == pytest.approx(19220 / 400)
    heard(_RECOVERS, log, since=5.0)
    assert log.recovers
    assert started(log).files.seen(8.0) is None
    heard(_VALIDATES, log, since=10.0)
    seen = started(log).files.seen(12.0)
    assert seen is not None
    assert (seen.validates, seen.done, seen.of, seen.rate) == (True, 2546, 20024, 1272.0)
    # A second has passed since it said so.
    assert seen.left == pytest.approx((20024 - 2546) / 1272 - 1)
    heard(
        ["2026-11-26T19:33:04.366506Z 1 [Note] [MY-012356] [InnoDB] Scanned 20024 tablespaces. Validated 20024."], log
    )
    assert started(log).files.seen(14.0) is None


def test_an_old_server_says_that_it_looks_at_its_files_and_no_more() -> None:
    log = heard(
        [
            "InnoDB: Database was not shut down normally!",
            "InnoDB: Reading tablespace information from the .ibd files...",
        ]
    )
    seen = started(log).files.seen(2.0)
    assert seen is not None
    assert (seen.of, seen.left) == (None, None)
    heard(["InnoDB: Restoring possible half-written data pages from the doublewrite"], log, since=3.0)
    assert started(log).files.seen(4.0) is None


def test_what_the_script_around_a_server_restarts_has_not_ended() -> None:
    """The next start comes: `follow` waits for it."""
    ready = "2026-11-21T09:00:00.000000Z 0 [System] [MY-010931] [Server] /usr/sbin/mysqld: ready for connections. Version: '9.7.4'"
    log = heard([ready, "2026-11-21T09:00:00.000000Z mysqld_safe mysqld restarted"])
    assert (log.writer.ended, log.start, log.began) == (None, None, 1.0)
