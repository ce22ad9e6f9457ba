"""Recoveries out of error logs: golden files, and what no log may ever do to the parser."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from redolab.errorlog import Phase, Timeline, as_json, starts, timelines
from redolab.errorlog.clocks import SET_BACK
from redolab.errorlog.files import read_log
from redolab.errorlog.kinds import End
from redolab.lines import Line
from tests.errorlog.mutating import check, follow_through, mutated, read_through
from tests.logs import ERROR_LOGS, FORMS, LOGS, REAL, form, lines_of

FIRST_FIVE = tuple(Phase)[:5]


def only(name: str) -> Timeline:
    (timeline,) = timelines(read_log(FORMS / f"{name}.log"))
    return timeline


def seconds(timeline: Timeline) -> list[float | None]:
    return [timeline.phase(phase).seconds for phase in Phase]


@pytest.mark.parametrize("log", ERROR_LOGS, ids=lambda log: str(log.relative_to(LOGS)))
def test_a_log_has_the_recoveries_beside_it(log: Path) -> None:
    found = list(timelines(read_log(log)))
    assert [json.loads(as_json(each)) for each in found] == json.loads(log.with_suffix(".json").read_text())
    check(found)
    # Reading leaves lines out that do not matter.
    assert list(timelines(map(Line, lines_of(log)))) == found


def test_a_scan_whose_end_is_not_told_ends_where_the_server_opens() -> None:
    log = (REAL / "mysql-9-plain.log").read_text()
    told, opened = 420052888, 420053020
    (whole,) = timelines(map(Line, log.splitlines()))
    assert whole.end_lsn == told
    (cut,) = timelines(Line(line) for line in log.splitlines() if f"number {told}" not in line)
    assert cut.end_lsn == opened
    assert len(cut.notes) == len(whole.notes) + 1


@pytest.mark.parametrize(
    ("opened", "server"),
    [
        ("2026-11-21 10:12:05 27734 [Note] InnoDB: 5.6.24 started; log sequence number 9", ("mysql", "5.6.24")),
        # The InnoDB of MariaDB 10.1 and 10.0, where it is loaded instead of XtraDB.
        ("2016-05-30 18:19:09 140737353992960 [Note] InnoDB: 5.6.49 started; log sequence number 9", (None, None)),
        ("160530 18:19:09 [Note] InnoDB: 5.6.49 started; log sequence number 9", (None, None)),
        ("InnoDB: 5.6.49 started; log sequence number 9", (None, None)),
        # XtraDB 5.6 is Percona's and MariaDB's, later ones only Percona's.
        (
            "2014-02-24 19:10:21 27734 [Note] InnoDB:  Percona XtraDB (http://www.percona.com) 5.6.31-77.0 started; "
            "log sequence number 9",
            (None, None),
        ),
        (
            "2020-01-09T10:20:31.716560Z 0 [Note] InnoDB: Percona XtraDB (http://www.percona.com) 5.7.26-29 started; "
            "log sequence number 9",
            ("percona", "5.7.26"),
        ),
        (
            "2021-04-05T13:34:57.220000Z 1 [Note] [MY-012976] [InnoDB] Percona XtraDB (http://www.percona.com) 8.0.32-25 "
            "started; log sequence number 9",
            ("percona", "8.0.32"),
        ),
        (
            "2019-01-09 10:20:31 0 [Note] InnoDB: 10.3.12 started; log sequence number 9; transaction id 21",
            ("mariadb", "10.3.12"),
        ),
        ("2019-01-09 10:20:31 0 [Note] InnoDB: 5.7.25 started; log sequence number 9", (None, None)),
    ],
)
def test_the_line_that_opens_innodb_names_the_server_where_only_one_writes_it(
    opened: str, server: tuple[str | None, str | None]
) -> None:
    (timeline,) = timelines([Line("InnoDB: Starting crash recovery."), Line(opened)])
    assert (timeline.family, timeline.version) == server


@pytest.mark.parametrize("log", sorted(REAL.glob("*.log")), ids=lambda log: log.stem)
def test_no_piece_of_a_log_names_another_server(log: Path) -> None:
    found = json.loads(log.with_suffix(".json").read_text())
    # A piece of a log without recoveries has none either.
    whole = found[-1] if found else {"family": None, "version": None}
    lines = lines_of(log)
    for begin in range(0, len(lines), max(7, len(lines) // 25)):
        for piece in (lines[begin:], [line for line in lines[begin:] if "InnoDB" in line], lines[: -begin or None]):
            for timeline in timelines(map(Line, piece)):
                assert timeline.family in (None, whole["family"])
                assert timeline.version in (None, whole["version"])


@pytest.mark.parametrize("pools", ["Number of transaction pools", "Number of pools"])
def test_a_pool_of_transactions_for_many_connections_is_no_start(pools: str) -> None:
    log = form("mariadb-10.11-ends-in-the-rollback")
    more = [f"2026-11-21  5:38:59 0 [Note] InnoDB: {pools}: {number}" for number in (2, 11, 3)]
    (timeline,) = timelines(map(Line, [*log, *more]))
    before = only("mariadb-10.11-ends-in-the-rollback")
    assert (timeline.seconds_at_least or 0.0) > (before.seconds_at_least or 0.0)
    assert replace(timeline, seconds_at_least=None) == replace(before, seconds_at_least=None)


def test_a_transaction_that_is_prepared_has_two_lines_and_one_in_the_dictionary_is_rolled_back_at_once() -> None:
    (found,) = timelines([Line(text) for text in _DEFINED.splitlines()])
    assert (found.transactions, found.prepared, found.rolled_back) == (5, 4, 1)
    assert found.left_nothing_to_undo


def test_a_rollback_in_the_background_is_not_over_when_the_server_is_ready() -> None:
    (found,) = timelines([Line(text) for text in _DEFINED.splitlines() if "MY-013012" not in text])
    assert not found.left_nothing_to_undo


def test_a_version_that_is_a_year_is_mysqls_where_innodb_alone_is_heard() -> None:
    lines = [line for line in form("mysql-26.7") if "[InnoDB]" in line]
    assert not any("mysqld 26.7.0" in line or "Version:" in line for line in lines)
    (timeline,) = timelines(map(Line, lines))
    assert (timeline.family, timeline.version) == ("mysql", "26.7.0")


def test_times_without_a_day_that_go_back_a_little_are_a_clock_set_back() -> None:
    lines = [line.replace("00:00:0", "22:00:0") for line in form("mysql-8.0-times-without-a-day")]
    (timeline,) = timelines(map(Line, lines))
    assert timeline.phase(Phase.APPLY).why == SET_BACK


def test_what_is_unfinished_took_at_least_so_long_and_came_so_far() -> None:
    log = form("percona-8.0-batches-in-the-middle-of-the-scan")
    for end in range(len(log)):
        for timeline in timelines(map(Line, log[:end])):
            if timeline.ready is None:
                assert timeline.seconds_at_least is not None
                assert timeline.seconds_at_least >= 0
            assert timeline.reached_lsn is None or timeline.end_lsn is None
    (scanning,) = timelines(map(Line, form("mysql-26.7")[:9]))
    assert (scanning.seconds_at_least, scanning.reached_lsn) == (0.519901, 95000112)
    assert only("mysql-26.7").seconds_at_least is None


def test_a_data_directory_that_was_made_is_no_start_that_failed() -> None:
    lines = (
        "2025-03-09T02:11:40.1Z 0 [System] [MY-013169] [Server] mysqld (mysqld 8.0.36) initializing of server in progress as process 71",
        "2025-03-09T02:11:40.2Z 1 [System] [MY-013576] [InnoDB] InnoDB initialization has started.",
        "2025-03-09T02:11:42.1Z 1 [System] [MY-013577] [InnoDB] InnoDB initialization has ended.",
        "2025-03-09T02:11:47.1Z 0 [System] [MY-015018] [Server] /usr/sbin/mysqld (mysqld 8.0.36) initializing of server has completed",
        "2025-03-09T02:12:40.1Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 8.0.36) starting as process 99",
    )
    made, started = starts(map(Line, lines))
    assert (made.kind, made.reached, made.ended) == ("initialise", True, "initialised")
    assert (started.kind, started.reached) == ("server", False)


def test_the_words_of_a_crash_recovery_alone_are_found_in_a_file(tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    log.write_text("InnoDB: Starting crash recovery.\r\n101220 21:54:31 [Note] mysqld: ready for connections.\n")
    assert len(list(timelines(read_log(log)))) == 1


def test_a_rollback_in_the_foreground_that_is_not_over_has_no_end() -> None:
    lines = [line for line in form("mysql-8.0-foreground-rollback") if "id 2050 completed" not in line]
    (timeline,) = timelines(map(Line, lines))
    assert (timeline.phase(Phase.ROLLBACK).seconds, timeline.end, timeline.rolled_back) == (None, None, 1)


KILLED_IN_APPLY = form("mariadb-10.11")[:6]


@pytest.mark.parametrize(
    ("last", "ended"),
    [
        # 5.0 to 5.5 and MariaDB, 5.6 and 5.7, 8.0 (signal_handler.cc).
        (["130704 10:20:31 - mysqld got signal 11 ;"], "server crashed (signal 11) before it was ready"),
        (["10:20:31 UTC - mysqld got signal 11 ;"], "server crashed (signal 11) before it was ready"),
        (["2021-04-05T10:20:31Z UTC - mysqld got signal 11 ;"], "server crashed (signal 11) before it was ready"),
        (["130704 10:20:31 [ERROR] mysqld got signal 11 ;"], "server crashed (signal 11) before it was ready"),
        (
            [
                "2026-11-21  4:39:00 0 [ERROR] InnoDB: Assertion failure in file /x/log0recv.cc line 3301",
                "261121  4:39:00 [ERROR] mysqld got signal 6 ;",
            ],
            "server crashed (signal 6) before it was ready: Assertion failure in file /x/log0recv.cc line 3301",
        ),
        (
            [
                "2026-11-21  4:39:00 0 [ERROR] InnoDB: Unable to lock ./ibdata1, error: 11",
                "2026-11-21  4:39:00 0 [ERROR] Plugin 'InnoDB' init function returned error.",
                "2026-11-21  4:39:00 0 [ERROR] Plugin 'InnoDB' registration as a STORAGE ENGINE failed.",
                "2026-11-21  4:39:00 0 [ERROR] Unknown/unsupported storage engine: InnoDB",
                "2026-11-21  4:39:00 0 [ERROR] Aborting",
            ],
            "server gave up before it was ready: Unable to lock ./ibdata1, error: 11",
        ),
        (
            [
                "2026-11-21  4:39:00 0 [ERROR] Can't start server: Bind on TCP/IP port: Address already in use",
                "2026-11-21  4:39:00 0 [ERROR] Do you already have another server running on port: 3306 ?",
                "2026-11-21  4:39:00 0 [ERROR] Aborting",
            ],
            "server gave up before it was ready: Do you already have another server running on port: 3306 ?",
        ),
        (
            ["261121 04:39:00 mysqld_safe mysqld from pid file /run/mysqld.pid ended"],
            "server ended before it was ready",
        ),
        (
            ["261121 04:39:00 mysqld_safe mysqld restarted"],
            "server died without a word (mysqld_safe started it again) before it was ready",
        ),
        (
            [
                "2026-11-21  4:39:00 0 [Note] WSREP: Recovered position: 6a4b0b2c-0000-11ee-8b1d-8b5b3d0a1b2c:77",
                "2026-11-21  4:39:00 0 [Note] InnoDB: Starting shutdown...",
            ],
            "recovered position 6a4b0b2c-0000-11ee-8b1d-8b5b3d0a1b2c:77",
        ),
        # Of Percona XtraDB Cluster 8.0.
        (
            [
                "2026-11-21T04:39:00.000000Z 0 [Note] [MY-000000] [WSREP] Recovered position: "
                "6a4b0b2c-0000-11ee-8b1d-8b5b3d0a1b2c:3456",
            ],
            "recovered position 6a4b0b2c-0000-11ee-8b1d-8b5b3d0a1b2c:3456",
        ),
        # Of a node that joins, and serves then.
        (
            [
                "2026-11-21  4:39:00 2 [Note] WSREP: Recovered position from storage: 6a4b0b2c-0000-11ee-8b1d-8b5b3d0a1b2c:7"
            ],
            "server started again (crash during recovery) before it was ready",
        ),
        (
            ["261121 04:39:00 mysqld_safe Starting mariadbd daemon with databases from /var/lib/mysql"],
            "server started again (crash during recovery) before it was ready",
        ),
        # An error that did not end the server is not why it was shut down.
        (
            [
                "2026-11-21  4:39:00 0 [ERROR] Incorrect definition of table mysql.proc",
                "2026-11-21  4:39:00 0 [Note] InnoDB: Starting shutdown...",
                "2026-11-21  4:39:01 0 [Note] InnoDB: Shutdown completed; log sequence number 49; transaction id 9",
            ],
            "server was shut down before it was ready",
        ),
        (
            ["2026-11-21  4:39:00 0 [Note] InnoDB: Starting shutdown..."],
            "server was killed while it shut down before it was ready",
        ),
        (
            [
                "2026-11-21  4:39:00 0 [Note] InnoDB: Starting shutdown...",
                "2026-11-21  4:39:09 0 [ERROR] InnoDB: Assertion failure in file /x/buf0flu.cc line 1",
                "261121  4:39:09 [ERROR] mysqld got signal 6 ;",
            ],
            "server crashed (signal 6) before it was ready: Assertion failure in file /x/buf0flu.cc line 1",
        ),
    ],
)
def test_why_a_server_ended_in_its_recovery(last: list[str], ended: str, tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    log.write_text("".join(f"{line}\n" for line in [*KILLED_IN_APPLY, *last, *form("mariadb-10.11")]))
    first, second = timelines(read_log(log))
    assert first.ended == ended
    assert second == only("mariadb-10.11")


def in_the_journal(process: int, lines: Sequence[str]) -> list[Line]:
    return [Line(f"Nov 21 05:00:00.000001 db mariadbd[{process}]: {line}") for line in lines]


SHUT_DOWN = "2026-11-21  5:00:00 0 [Note] /usr/sbin/mariadbd: Shutdown complete"


def test_starts_of_processes_come_out_in_the_order_in_which_they_began() -> None:
    """One that was killed says nothing more: only the end of the log tells that it is over."""
    lines = [*in_the_journal(2, KILLED_IN_APPLY), *in_the_journal(3, [*form("mariadb-10.11"), SHUT_DOWN])]
    found = list(starts(lines))
    assert [start.number for start in found] == sorted(start.number for start in found)
    assert [(start.reached, start.ended) for start in found] == [
        (False, End.STARTED_AGAIN),
        (True, End.SHUT_DOWN),
    ]


def test_more_processes_than_are_followed_have_started_again() -> None:
    loop = [line for process in range(1, 400) for line in in_the_journal(process, KILLED_IN_APPLY)]
    ends = [start.ended for start in starts(loop)]
    assert ends == [End.STARTED_AGAIN] * 398 + [End.LOG_ENDS]


@pytest.mark.parametrize(("port", "ended"), [(3307, End.LOG_ENDS), (3306, End.STARTED_AGAIN)])
def test_a_server_that_takes_connections_elsewhere_is_another(port: int, ended: str) -> None:
    whole = form("mariadb-10.11")
    address = "Version: '10.11.14-MariaDB'  socket: '/run/mysqld/mysqld.sock'  port: {}  Debian 12"
    first = in_the_journal(2, [*whole, address.format(3306)])
    second = in_the_journal(3, [*whole, address.format(port)])
    assert next(starts([*first, *second])).ended == ended


@pytest.mark.parametrize(("at", "told"), [("05:00:08", ": Error of the disk"), ("04:50:00", "")])
def test_an_error_long_before_a_crash_is_not_its_reason(at: str, told: str) -> None:
    whole = form("mysql-8.0-foreground-rollback")
    error = f"2026-11-21T{at}.000000Z 9 [ERROR] [MY-010584] [InnoDB] Error of the disk"
    (start,) = starts(map(Line, [*whole, error, "2026-11-21T05:00:09Z UTC - mysqld got signal 11 ;"]))
    assert start.ended == f"server crashed (signal 11){told}"


def test_the_line_of_the_version_is_the_one_of_a_server_that_is_ready() -> None:
    """The line before it is in the language of the server, and can be lost."""
    log = form("mysql-5.6-unstamped-lines-between-equal-stamps")
    assert any(": ready for connections." in line for line in log)
    localised = [line.replace("ready for connections", "bereit für Verbindungen") for line in log]
    (timeline,) = timelines(map(Line, localised))
    assert timeline.ended == only("mysql-5.6-unstamped-lines-between-equal-stamps").ended


def test_with_notes_the_binary_logs_recovery_alone_is_no_recovery() -> None:
    """Its file was left in use, but InnoDB says that it had nothing to recover."""
    whole = (REAL / "mysql-9-binlog.log").read_text().splitlines()
    clean = [line for line in whole if not any(word in line for word in CRASH_WORDS)]
    assert any("Starting XA crash recovery..." in line for line in clean)
    (start,) = starts(map(Line, clean))
    assert (start.reached, start.recovery, start.undecided) == (True, None, None)


CRASH_WORDS = (
    "past the checkpoint",
    "not shutdown normally",
    "Starting crash recovery.",
    "scanned up to",
    "Applying a b",
)


@pytest.mark.parametrize("said", ["/usr/sbin/mariadbd: Shutdown complete", "InnoDB: Starting shutdown..."])
def test_a_shutdown_at_the_head_of_a_log_ends_no_later_recovery(said: str) -> None:
    shut_down = f"2026-11-21  4:00:00 0 [Note] {said}"
    (timeline,) = timelines(map(Line, [shut_down, *form("mariadb-10.11")[:6]]))
    assert timeline.ended.startswith(End.LOG_ENDS)


def test_a_clock_set_back_is_seen_past_a_stamp_of_another_form() -> None:
    log = (
        "090706 15:39:47  InnoDB: Database was not shut down normally!",
        "2026-11-21  4:38:59 0 [Note] InnoDB: End of log at LSN=402964500",
        "2016-05-30T18:39:09.750000Z 0 [Note] InnoDB: Rollback of non-prepared transactions completed",
        "2026-11-21  4:38:28 0 [Note] /usr/sbin/mariadbd: ready for connections.",
    )
    check(list(timelines(map(Line, log))))


def test_lines_seen_arriving_are_timed_to_the_millisecond() -> None:
    lines = [Line(text, 100 + i * 0.0125) for i, text in enumerate(form("mariadb-10.11"))]
    (timeline,) = timelines(lines)
    assert (timeline.clock, timeline.resolution) == ("arrival", 0.001)
    assert seconds(timeline) == [0.025, 0.05, 0.025, 0.0375, 0.0125, 0.0375]
    assert timeline.start is not None
    assert timeline.start.isoformat() == "2026-11-21T04:38:27"


def test_lines_that_a_server_held_back_are_timed_by_its_own_stamps() -> None:
    held_back = [Line(text, 100.0) for text in form("percona-8.0-batches-in-the-middle-of-the-scan")]
    (timeline,) = timelines(held_back)
    assert timeline.clock == "log"
    assert seconds(timeline) == [0.12, 4.0, 3.0, 0.2, 0.58, 0.3]


ALL_LINES = [line for log in sorted(FORMS.glob("*.log")) for line in lines_of(log)]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(ALL_LINES), max_size=60), st.lists(st.floats(0, 1e6), min_size=60, max_size=60))
def test_lines_arriving_in_any_order(lines: list[str], arrivals: list[float]) -> None:
    check(list(timelines(Line(text, at) for text, at in zip(lines, sorted(arrivals), strict=False))))


@pytest.mark.parametrize("first", range(0, 2000, 250))
def test_a_mutated_log_is_read_through(first: int) -> None:
    """A hundredth of what `python -m tests.errorlog.mutating` reads."""
    for seed in range(first, first + 250):
        read_through(mutated(seed))
        follow_through(mutated(seed))


def test_json_within_json_without_end_is_no_record() -> None:
    assert list(timelines([Line('InnoDB: {"msg":' * 2_000)])) == []
    assert list(timelines([Line('{"InnoDB":' * 1_500)])) == []


@pytest.mark.parametrize("digits", [21, 5_000])
def test_a_number_that_no_server_writes_is_none(digits: int) -> None:
    lines = [line.replace("402964500", "4" * digits) for line in form("mariadb-10.11")]
    assert lines != form("mariadb-10.11")
    (timeline,) = timelines(map(Line, lines))
    assert timeline.end_lsn != only("mariadb-10.11").end_lsn
    assert seconds(timeline) == seconds(only("mariadb-10.11"))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(FORMS.glob("*.log"))), st.integers(0), st.integers(0))
def test_a_cut_log_times_no_phase_otherwise(log: Path, begin: int, end: int) -> None:
    lines = [Line(text, float(i)) for i, text in enumerate(lines_of(log))]
    begin, end = sorted((begin % (len(lines) + 1), end % (len(lines) + 1)))
    cut = list(timelines(lines[begin:end]))
    check(cut)
    whole = list(timelines(lines))
    for phase in (Phase.OPEN, Phase.ACCEPT, Phase.ROLLBACK):
        assert {t.phase(phase).seconds for t in cut} <= {t.phase(phase).seconds for t in whole} | {None}


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(FORMS.glob("*.log"))), st.integers(0, 2**32))
def test_letters_in_the_wrong_case_invent_nothing(log: Path, seed: int) -> None:
    chance = random.Random(seed)
    text = log.read_bytes().decode("utf-8", "replace")
    shuffled = "".join(c.upper() if chance.random() < 0.5 else c.lower() for c in text)
    assert list(timelines(map(Line, shuffled.split("\n")))) == []


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40), st.sampled_from(ALL_LINES), st.text(max_size=40))
def test_any_text_around_a_line(before: str, line: str, after: str) -> None:
    check(list(timelines([Line(before + line + after)])))


_DEFINED = """
2026-11-25T08:25:03.398420Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 9.7.4-2) starting as process 2
2026-11-25T08:25:03.537075Z 1 [Note] [MY-012551] [InnoDB] Database was not shutdown normally!
2026-11-25T08:25:03.537086Z 1 [Note] [MY-012552] [InnoDB] Starting crash recovery.
2026-11-25T08:25:03.596103Z 1 [Note] [MY-012550] [InnoDB] Doing recovery: scanned up to log sequence number 23348462
2026-11-25T08:25:03.596255Z 1 [Note] [MY-012532] [InnoDB] Applying a batch of 242 redo log records ...
2026-11-25T08:25:03.632134Z 1 [Note] [MY-012535] [InnoDB] Apply batch completed!
2026-11-25T08:25:03.811060Z 1 [Note] [MY-013029] [InnoDB] Transaction 4604 was in the XA prepared state.
2026-11-25T08:25:03.811165Z 1 [Note] [MY-013031] [InnoDB] Transaction 4604 was in the XA prepared state.
2026-11-25T08:25:03.811400Z 1 [Note] [MY-013029] [InnoDB] Transaction 4598 was in the XA prepared state.
2026-11-25T08:25:03.811493Z 1 [Note] [MY-013031] [InnoDB] Transaction 4598 was in the XA prepared state.
2026-11-25T08:25:03.811568Z 1 [Note] [MY-013029] [InnoDB] Transaction 4603 was in the XA prepared state.
2026-11-25T08:25:03.811646Z 1 [Note] [MY-013031] [InnoDB] Transaction 4603 was in the XA prepared state.
2026-11-25T08:25:03.811722Z 1 [Note] [MY-013029] [InnoDB] Transaction 4605 was in the XA prepared state.
2026-11-25T08:25:03.811802Z 1 [Note] [MY-013031] [InnoDB] Transaction 4605 was in the XA prepared state.
2026-11-25T08:25:03.8118Z 1 [Note] [InnoDB] 5 transaction(s) which must be rolled back or cleaned up in total 7 row operations to undo
2026-11-25T08:25:03.902878Z 1 [Note] [MY-013011] [InnoDB] Rolling back trx with id 4580, 7 rows to undo
2026-11-25T08:25:03.903735Z 1 [Note] [MY-013012] [InnoDB] Rollback of trx with id 4580 completed
2026-11-25T08:25:03.996883Z 0 [System] [MY-010931] [Server] /usr/sbin/mysqld: ready for connections.
"""
"""A crash in the middle of a statement that defines a table: its transaction is rolled back before the server is ready, and no line
says that nothing else is to be."""
