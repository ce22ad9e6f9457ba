"""Recoveries out of error logs: golden files, the published crashes, and what no log may ever do to the parser."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redolab.lines import Line
from redolab.timeline import Phase, Timeline, timelines, to_json
from redolab.timeline.logs import read_log

LOGS = Path(__file__).parent.parent / "logs"
FORMS = LOGS / "forms"
FIRST_FIVE = tuple(Phase)[:5]


def of(name: str) -> list[Timeline]:
    return list(timelines(read_log(FORMS / f"{name}.log")))


def only(name: str) -> Timeline:
    (timeline,) = of(name)
    return timeline


def seconds(timeline: Timeline) -> list[float | None]:
    return [timeline.phase(phase).seconds for phase in Phase]


def texts(name: str) -> list[str]:
    return (FORMS / f"{name}.log").read_bytes().decode().splitlines()


@pytest.mark.parametrize("log", sorted(LOGS.rglob("*.log")), ids=lambda log: str(log.relative_to(LOGS)))
def test_golden(log: Path) -> None:
    assert [to_json(t) for t in timelines(read_log(log))] == json.loads(log.with_suffix(".json").read_text())


@pytest.mark.parametrize("log", sorted(LOGS.rglob("*.log")), ids=lambda log: str(log.relative_to(LOGS)))
def test_reading_all_lines_or_only_those_that_matter_is_the_same(log: Path) -> None:
    whole = [Line(line) for line in log.read_bytes().decode("utf-8", "replace").split("\n")]
    assert list(timelines(whole)) == list(timelines(read_log(log)))


@pytest.mark.parametrize(
    ("name", "took"),
    [
        ("published-stamps-5.5.7-52G-flash", 8 * 60 + 9),
        ("published-stamps-5.5.7-144G-flash", 9 * 60 + 23),
        ("published-stamps-5.5.7-144G-raid10", 14 * 60 + 57),
    ],
)
def test_the_published_crashes(name: str, took: int) -> None:
    timeline = only(name)
    assert timeline.seconds == took
    assert timeline.resolution == 1.0
    assert timeline.seconds_to_ready is None
    assert not timeline.complete


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mariadb-10.11", [1.0, 32.0, 20.0, 1.0, 1.0, 38.0]),
        ("mariadb-10.6-compose", [1.0, 18.0, 3.0, 1.0, 1.0, None]),
        ("mysql-5.1-lsn-in-two-words", [7.0, 43.0, None, None, 6.0, None]),
        ("mysql-5.6-unstamped-lines-between-equal-stamps", [9.0, 3907.0, 0.0, 2.0, 1.0, None]),
        ("mysql-5.7-stamps-in-the-middle-of-lines", [0.045978, 1006.935022, 189.029, 2.5, 0.75, 6.5]),
        ("mysql-5.7-local-time-with-offset-crlf", [0.045978, 1006.935022, 189.029, 2.5, 0.75, 6.5]),
        ("mysql-5.7-begins-after-the-scan", [None, None, 189.029, 2.5, 0.75, 6.5]),
        ("mysql-5.7-syslog-without-server-stamps", [1.0, 1006.0, 190.0, 2.0, 1.0, 6.0]),
        ("percona-8.0-batches-in-the-middle-of-the-scan", [0.12, 4.0, 3.0, 0.2, 0.58, 0.3]),
        ("percona-8.0-json-truncated", [0.12, 4.0, 3.0, 0.2, 0.58, 0.3]),
        ("percona-8.0-docker-json-file", [0.12, 4.0, 3.0, 0.2, 0.58, 0.3]),
        ("percona-8.0-kubernetes-cri", [0.12, 4.0, 3.0, 0.2, 0.58, 0.3]),
        ("percona-8.0-journald-short-iso", [0.12, 4.0, 3.0, 0.2, 0.58, 0.3]),
        ("percona-5.6-journald-short-precise", [9.0, 3907.0, 0.002, 1.998, 1.0, None]),
    ],
)
def test_phases_of_each_form(name: str, expected: list[float | None]) -> None:
    assert seconds(only(name)) == expected


def test_what_else_a_log_tells() -> None:
    timeline = only("percona-8.0-batches-in-the-middle-of-the-scan")
    assert (timeline.family, timeline.version) == ("percona", "8.0.32")
    assert (timeline.checkpoint_lsn, timeline.end_lsn, timeline.redo_bytes) == (1_000_000, 9_000_000, 8_000_000)
    assert (timeline.pages, timeline.batches) == (1770, 2)
    assert (timeline.transactions, timeline.rows) == (1, 300)
    assert timeline.rollback_seconds == 0.8
    assert timeline.complete


def test_a_scan_whose_end_is_not_told_ends_where_the_server_opens() -> None:
    log = (LOGS / "real/mysql-9-plain.log").read_text()
    told, opened = 420052888, 420053020
    (whole,) = timelines(map(Line, log.splitlines()))
    assert whole.end_lsn == told
    (cut,) = timelines(Line(line) for line in log.splitlines() if f"number {told}" not in line)
    assert cut.end_lsn == opened
    assert "the log does not tell where the scan ended: the end LSN is the one with which InnoDB opened" in cut.notes


def innodb_alone(log: Path) -> list[str]:
    """What `grep InnoDB` leaves of a log: neither the line of the start nor the one with the version."""
    return [line for line in log.read_bytes().decode().split("\n") if "InnoDB:" in line or "[InnoDB]" in line]


@pytest.mark.parametrize(
    ("name", "server"),
    [
        ("mysql-5.6-plain", ("mysql", "5.6.24")),
        ("mysql-5.6-small-pool", ("mysql", "5.6.24")),
        ("mysql-8.0-plain", ("mysql", "8.0.15")),
        ("mysql-9-plain", ("mysql", "9.7.4")),
        ("mariadb-10.2-plain", ("mariadb", None)),  # its InnoDB calls itself 5.7.20
        ("mariadb-10.5-plain", ("mariadb", "10.5.23")),
        ("mariadb-11.8-plain", ("mariadb", None)),
    ],
)
def test_the_lines_of_innodb_alone_name_the_server_where_they_can(
    name: str, server: tuple[str | None, str | None]
) -> None:
    (timeline,) = timelines(map(Line, innodb_alone(LOGS / f"real/{name}.log")))
    assert (timeline.family, timeline.version) == server


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


def test_xtradb_tells_percona_from_mysql_before_the_vendor_does() -> None:
    log = [line for line in texts("percona-8.0-batches-in-the-middle-of-the-scan") if "Percona Server" not in line]
    opened = "[InnoDB] Percona XtraDB (http://www.percona.com) 8.0.32-24 started"
    (timeline,) = timelines(Line(line.replace("[InnoDB] 8.0.32 started", opened)) for line in log)
    assert (timeline.family, timeline.version) == ("percona", "8.0.32")


@pytest.mark.parametrize("log", sorted(LOGS.glob("real/*.log")), ids=lambda log: log.stem)
def test_no_piece_of_a_log_names_another_server(log: Path) -> None:
    whole = json.loads(log.with_suffix(".json").read_text())[-1]
    lines = log.read_bytes().decode("utf-8", "replace").split("\n")
    for begin in range(0, len(lines), 7):
        for piece in (lines[begin:], [line for line in lines[begin:] if "InnoDB" in line], lines[: -begin or None]):
            for timeline in timelines(map(Line, piece)):
                assert timeline.family in (None, whole["family"])
                assert timeline.version in (None, whole["version"])


def test_an_offset_stays_with_its_stamp() -> None:
    start = only("mysql-5.7-local-time-with-offset-crlf").start
    assert start is not None
    assert start.isoformat() == "2016-05-30T20:19:03.990000+02:00"


def test_lsn_of_two_words_and_rows_in_millions() -> None:
    timeline = only("mysql-5.1-lsn-in-two-words")
    assert timeline.redo_bytes == 10 << 20
    assert timeline.rows == 1_200_000_000


def test_a_phase_without_a_number_has_a_reason() -> None:
    timeline = only("mysql-5.7-begins-after-the-scan")
    assert timeline.phase(Phase.SCAN).why == "the log begins after this"
    assert all((time.seconds is None) == bool(time.why) for time in timeline.phases)


def test_a_crash_during_recovery_is_two_recoveries() -> None:
    first, second = of("mariadb-10.11-crash-during-recovery-nul-bytes")
    assert "crash during recovery" in first.ended
    assert first.phase(Phase.SCAN).seconds == 32.0
    assert first.phase(Phase.APPLY).seconds is None
    assert second.complete


def test_a_log_that_ends_in_the_rollback_has_no_end() -> None:
    timeline = only("mariadb-10.11-ends-in-the-rollback")
    assert timeline.seconds_to_ready == 55.0
    assert timeline.seconds is None
    assert timeline.ended == "log ends here before the rollback was completed"


def test_clean_starts_and_what_users_make_a_server_print_are_no_recovery() -> None:
    assert of("clean-starts") == []


def test_two_servers_in_one_file_stay_apart() -> None:
    first, second = of("mariadb-two-containers-interleaved")
    assert (first.source, second.source) == ("db-1", "replica-1")
    assert seconds(first) == seconds(only("mariadb-10.6-compose"))
    assert seconds(second) == seconds(only("mariadb-10.11"))


def test_a_clock_set_back_costs_the_phase_and_the_total() -> None:
    timeline = only("mariadb-10.11-clock-set-back")
    assert timeline.phase(Phase.SCAN).seconds is None
    assert timeline.phase(Phase.APPLY).seconds == 20.0
    assert timeline.seconds is None
    assert timeline.seconds_to_ready is None


def test_a_clock_set_back_is_seen_past_a_stamp_of_another_form() -> None:
    log = (
        "090706 15:39:47  InnoDB: Database was not shut down normally!",
        "2026-11-21  4:38:59 0 [Note] InnoDB: End of log at LSN=402964500",
        "2016-05-30T18:39:09.750000Z 0 [Note] InnoDB: Rollback of non-prepared transactions completed",
        "2026-11-21  4:38:28 0 [Note] /usr/sbin/mariadbd: ready for connections.",
    )
    check(list(timelines(map(Line, log))))


def test_lines_seen_arriving_are_timed_to_the_millisecond() -> None:
    lines = [Line(text, 100 + i * 0.0125) for i, text in enumerate(texts("mariadb-10.11"))]
    (timeline,) = timelines(lines)
    assert (timeline.clock, timeline.resolution) == ("arrival", 0.001)
    assert seconds(timeline) == [0.025, 0.05, 0.025, 0.0375, 0.0125, 0.0375]
    assert timeline.start is not None
    assert timeline.start.isoformat() == "2026-11-21T04:38:27"


def test_lines_that_a_server_held_back_are_timed_by_its_own_stamps() -> None:
    held_back = [Line(text, 100.0) for text in texts("percona-8.0-batches-in-the-middle-of-the-scan")]
    (timeline,) = timelines(held_back)
    assert timeline.clock == "log"
    assert seconds(timeline) == [0.12, 4.0, 3.0, 0.2, 0.58, 0.3]


def test_phases_that_cannot_be_told_apart_are_given_together() -> None:
    assert "apply and open together took 4280 s" in only("mysql-5.1-lsn-in-two-words").notes


def test_a_process_that_falls_silent_before_the_next_one_starts_has_crashed() -> None:
    lines = [f"2026-11-21T04:38:27+0000 db mariadbd[1]: {text}" for text in texts("mariadb-10.11")[:6]]
    lines += [f"2026-11-21T04:39:27+0000 db mariadbd[2]: {text}" for text in texts("mariadb-10.11")]
    first, second = timelines(map(Line, lines))
    assert "crash during recovery" in first.ended
    assert second.complete


ALL_LINES = [
    line for log in sorted(FORMS.glob("*.log")) for line in log.read_bytes().decode("utf-8", "replace").split("\n")
]


def check(found: list[Timeline]) -> None:
    """What holds for every timeline, however little sense its log makes."""
    for timeline in found:
        assert tuple(time.phase for time in timeline.phases) == tuple(Phase)
        for time in timeline.phases:
            assert (time.seconds is None) == bool(time.why)
            assert time.seconds is None or time.seconds >= 0
        first = [timeline.phase(phase).seconds for phase in FIRST_FIVE]
        known = sum(s for s in first if s is not None)
        if timeline.seconds_to_ready is not None:
            assert known <= timeline.seconds_to_ready + 1e-9
            if None not in first:
                assert known == pytest.approx(timeline.seconds_to_ready, abs=1e-9)
        if timeline.seconds is not None:
            rollback = timeline.phase(Phase.ROLLBACK).seconds
            if timeline.seconds_to_ready is not None:
                assert timeline.seconds == pytest.approx(timeline.seconds_to_ready + (rollback or 0), abs=1e-9)
        json.dumps(to_json(timeline))


def mangled(seed: int, text: str) -> str:
    """Cut, repeated, overwritten or thrown together, as a crash of the machine or a log shipper may leave it."""
    chance = random.Random(seed)
    pieces = [text[a:b] for a, b in pairwise(sorted(chance.choices(range(len(text) + 1), k=8)))]
    chance.shuffle(pieces)
    return chance.choice(("\n", "", "\0", "\r\n")).join(pieces)


lines_of_logs = st.lists(st.sampled_from(ALL_LINES), max_size=60)


@settings(max_examples=300, deadline=None)
@given(lines_of_logs)
def test_lines_in_any_order(lines: list[str]) -> None:
    check(list(timelines(map(Line, lines))))


@settings(max_examples=300, deadline=None)
@given(lines_of_logs, st.lists(st.floats(0, 1e6), min_size=60, max_size=60))
def test_lines_arriving_in_any_order(lines: list[str], arrivals: list[float]) -> None:
    check(list(timelines(Line(text, at) for text, at in zip(lines, sorted(arrivals), strict=False))))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(FORMS.glob("*.log"))), st.integers(0, 2**32))
def test_mangled_logs(log: Path, seed: int) -> None:
    text = mangled(seed, log.read_bytes().decode("utf-8", "replace"))
    check(list(timelines(map(Line, text.split("\n")))))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(FORMS.glob("*.log"))), st.integers(0), st.integers(0))
def test_a_cut_log_times_no_phase_otherwise(log: Path, begin: int, end: int) -> None:
    texts_of_log = log.read_bytes().decode("utf-8", "replace").split("\n")
    lines = [Line(text, float(i)) for i, text in enumerate(texts_of_log)]
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
@given(st.lists(st.text(max_size=200), max_size=20))
def test_any_text(lines: list[str]) -> None:
    assert list(timelines(map(Line, lines))) == []


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40), st.sampled_from(ALL_LINES), st.text(max_size=40))
def test_any_text_around_a_line(before: str, line: str, after: str) -> None:
    check(list(timelines([Line(before + line + after)])))
