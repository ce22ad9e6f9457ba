"""Kinds of logs that operators post: pieces, failed starts, backups, copies; each is read right or said to be unreadable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from redolab.errorlog import FoundStart, starts
from redolab.errorlog.files import read_log
from redolab.errorlog.kinds import StartKind
from redolab.errorlog.phases import NO_LINES
from redolab.errorlog.reader import BACKUP_END_LOST
from redolab.errorlog.redo import LOG_BEGINS_LATER
from redolab.errorlog.summary import StartSummary
from redolab.lines import Line
from tests.logs import FORMS, form


def starts_of(name: str) -> list[FoundStart]:
    return list(starts(read_log(FORMS / f"{name}.log")))


def summary_of(found: Sequence[FoundStart]) -> StartSummary:
    summary = StartSummary()
    for start in found:
        summary.add(start)
    summary.finish()
    return summary


def read(*texts: str) -> list[FoundStart]:
    return list(starts(map(Line, texts)))


READY = "2024-03-01  4:00:09 0 [Note] /usr/sbin/mariadbd: ready for connections."
VERSION = "Version: '10.6.16-MariaDB'  socket: '/run/mysqld/mysqld.sock'  port: 3306  Debian 11"
BINARY_LOG = (
    "2024-03-01  4:00:08 0 [Note] Starting table crash recovery...",
    "2024-03-01  4:00:08 0 [Note] Crash table recovery finished.",
)
TC_LOG = "2024-03-01  4:00:08 0 [Note] Recovering after a crash using tc.log"


def test_tablespaces_and_doublewrite_are_read_in_a_recovery_only() -> None:
    recovered, last = starts_of("mariadb-10.0-begins-in-the-recovery")
    assert (recovered.reached, last.reached) == (True, False)


@pytest.mark.parametrize("before", [(), (TC_LOG,)])
def test_the_recovery_of_the_binary_log_at_the_head_of_a_log_proves_a_crash(before: Sequence[str]) -> None:
    (start,) = read(*before, *BINARY_LOG, READY, VERSION)
    assert start.recovery is not None
    assert start.recovery.ready == datetime(2024, 3, 1, 4, 0, 9)


def test_ready_alone_tells_nothing_of_a_recovery() -> None:
    """As of a journal that is filtered by its priority, after the kernel killed the server."""
    (start,) = read("kernel: Out of memory: Killed process 812 (mariadbd)", READY, VERSION)
    assert start.recovery is None
    assert start.undecided is not None
    assert start.undecided.why == NO_LINES
    assert summary_of([start]).clean == 0


def test_a_log_that_begins_when_innodb_is_open_is_not_called_a_clean_start() -> None:
    (start,) = read("2024-03-01  4:00:08 0 [Note] InnoDB: log sequence number 49; transaction id 9", READY, VERSION)
    assert start.undecided is not None
    assert start.undecided.why == LOG_BEGINS_LATER


def test_a_start_that_follows_a_shutdown_is_known_to_be_clean_though_no_line_begins_it() -> None:
    """As of MySQL 5.1."""
    clean = [
        "260101 10:00:00  InnoDB: Started; log sequence number 0 43665",
        "260101 10:00:00 [Note] mysqld: ready for connections.",
    ]
    found = read(*clean, "260101 11:00:00 [Note] mysqld: Shutdown complete", *clean)
    assert [start.undecided is None for start in found] == [False, True]
    assert summary_of(found).clean == 1


def test_failed_starts_follow_each_other_without_a_line_between() -> None:
    first, last = starts_of("mariadb-10.6-fails-again-and-again")
    assert first.ended.startswith("server gave up: Missing FILE_CHECKPOINT at")
    assert last.began == datetime(2022, 8, 4, 1, 22, 14)
    assert not last.reached


def test_four_times_the_same_failed_start_are_a_crash_loop() -> None:
    lines = form("mariadb-10.6-fails-again-and-again")
    block = [line for line in lines if " 1:18:48 " in line]
    (loop,) = summary_of(read(*block * 4)).loops
    assert loop.starts == 4


def test_starts_that_die_without_a_word_are_told_apart_by_what_each_says_once() -> None:
    begins = [line for line in form("mariadb-10.6-fails-again-and-again") if "[Note] InnoDB" in line][:5]
    assert len(read(*begins * 3)) == 3


BEGINS = "2024-03-01T04:00:00.000000Z 0 [Note] InnoDB: Mutexes and rw_locks use GCC atomic builtins"


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        ("Fatal error: Can't open and lock privilege tables: Table 'mysql.user' doesn't exist", "server gave up: "),
        ("Can't open and lock privilege tables: Table 'mysql.servers' doesn't exist", "log ends here: "),
        ("InnoDB: Unable to lock ./ibdata1 error: 11", "log ends here: "),
        ("init_last_index_of_term for recovery failed", "log ends here: "),
    ],
)
def test_the_last_error_is_what_an_operator_wants(error: str, ended: str) -> None:
    (start,) = read(BEGINS, *[f"2024-03-01T04:00:0{second}.000000Z 0 [ERROR] {error}" for second in (1, 2, 3)])
    assert start.ended == ended + error.removeprefix("InnoDB: ")


@pytest.mark.parametrize("name", ["xtrabackup-8.0.35-fails", "xtrabackup-8.0.26-prepare", "xtrabackup-2.4-prepare"])
@pytest.mark.parametrize("without", ["Starting InnoDB instance for recovery", "completed OK!"])
def test_a_backup_program_is_known_by_any_of_its_lines(name: str, without: str) -> None:
    lines = [line for line in form(name) if without not in line]
    assert {start.kind for start in read(*lines)} == {StartKind.BACKUP}


def test_a_prepare_whose_end_is_lost_is_not_told_to_have_failed() -> None:
    lines = [line.replace("completed OK!", "completed OK") for line in form("xtrabackup-8.0.26-prepare")]
    last = read(*lines)[-1]
    assert (last.kind, last.reached) == (StartKind.BACKUP, False)
    assert last.ended.endswith(BACKUP_END_LOST)
    scanning = read(*lines[: next(number for number, line in enumerate(lines) if "scanned up to" in line)])[-1]
    assert (scanning.kind, scanning.ended) == (StartKind.BACKUP, BACKUP_END_LOST)


def test_a_server_that_starts_on_a_backup_is_no_backup() -> None:
    found = read(*form("xtrabackup-8.0.26-prepare"), *form("mysql-8.0-foreground-rollback"))
    assert found[-1].kind is StartKind.SERVER


def spaced(line: str) -> str:
    """Double the blanks in the message of a line, as a copy of a copy has them."""
    label, mark, text = line.partition("InnoDB: " if "InnoDB: " in line else "[InnoDB] ")
    return f"{label}{mark}{text.replace(' ', '  ')}"


@pytest.mark.parametrize(
    "name",
    [
        "mariadb-10.11",
        "mariadb-10.11-begins-in-the-apply",
        "mysql-8.0-foreground-rollback",
        "mysql-5.6-unstamped-lines-between-equal-stamps",
    ],
)
@pytest.mark.parametrize("copied", ["    {}".format, "\t{}".format, " > {}".format, spaced])
def test_a_copy_of_a_log_says_the_same(name: str, copied: Callable[[str], str], tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    log.write_text("".join(f"{copied(line)}\n" for line in form(name)))
    assert log.read_text().splitlines() != form(name)
    assert [start.recovery for start in starts(read_log(log))] == [start.recovery for start in starts_of(name)]


def ready_again_and_again(end: Sequence[str], times: int) -> list[FoundStart]:
    return read(*[*form("mariadb-10.11"), *end] * times)


def test_servers_that_were_ready_and_were_killed_are_crashes_and_no_loop() -> None:
    summary = summary_of(ready_again_and_again([], 7))
    assert (summary.crashes, summary.loops) == (6, [])
    safe = ["261121 04:41:00 mysqld_safe mysqld restarted"]
    summary = summary_of(ready_again_and_again(safe, 6))
    assert (summary.crashes, summary.loops) == (6, [])


def test_starts_that_die_before_they_are_ready_are_a_loop() -> None:
    summary = summary_of(read(*form("mariadb-10.11")[:6] * 4, *form("mariadb-10.11")))
    assert [loop.starts for loop in summary.loops] == [4]


@pytest.mark.parametrize(
    ("version", "is_known"),
    [("12.3.1-MariaDB", False), ("13.0.1-MariaDB", False), ("11.8.6-MariaDB", True), ("10.11.14-MariaDB", True)],
)
def test_a_server_that_is_newer_than_all_known_is_read_and_said_to_be(version: str, is_known: bool) -> None:
    lines = [line.replace("10.11.18-MariaDB", version) for line in form("mariadb-10.11")]
    (start,) = read(*lines)
    assert start.recovery is not None
    assert start.recovery.version == version.partition("-")[0]
    assert (start.recovery.notes == ()) is is_known
