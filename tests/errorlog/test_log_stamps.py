"""Lines into records: stamps, prefixes of collectors, and the reading of files."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolab.errorlog import Event, timelines
from redolab.errorlog.files import read_log
from redolab.errorlog.line_table import matters, meaning_of
from redolab.errorlog.stamps import Record, parse_stamp, records

SHUT_DOWN = "InnoDB: Database was not shutdown normally!"


def one(line: str) -> Record:
    (record,) = records(line)
    return record


@pytest.mark.parametrize(
    ("stamp", "iso", "step"),
    [
        ("101220 21:54:31", "2010-12-20T21:54:31", 1_000_000),
        ("101221  0:00:58", "2010-12-21T00:00:58", 1_000_000),
        ("101221 0:00:58", "2010-12-21T00:00:58", 1_000_000),
        ("2026-11-21  4:38:27", "2026-11-21T04:38:27", 1_000_000),
        ("2016-05-30 18:19:04", "2016-05-30T18:19:04", 1_000_000),
        ("2016-05-30T18:19:04.035978Z", "2016-05-30T18:19:04.035978+00:00", 1),
        ("2016-05-30T18:19:04.035978+02:00", "2016-05-30T18:19:04.035978+02:00", 1),
        ("2016-05-30T18:19:04-0330", "2016-05-30T18:19:04-03:30", 1_000_000),
        ("2024-01-01T00:00:00.123456789Z", "2024-01-01T00:00:00.123456+00:00", 1),
        ("2024-01-01T00:00:00.123Z", "2024-01-01T00:00:00.123000+00:00", 1000),
    ],
)
def test_stamps(stamp: str, iso: str, step: int) -> None:
    parsed = parse_stamp(stamp)
    assert parsed is not None
    moment = parsed.datetime()
    assert moment is not None
    assert (moment.isoformat(), parsed.step) == (iso, step)


@pytest.mark.parametrize("stamp", ["2026-13-45 04:38:27", "261121 25:00:00", "", "Foo 21 09:07:57", "Feb 30 09:07:57"])
def test_impossible_stamps(stamp: str) -> None:
    assert parse_stamp(stamp) is None


@pytest.mark.parametrize(
    "line",
    [
        f"101220 21:54:31  {SHUT_DOWN}",
        f"101220 21:54:31 {SHUT_DOWN}",
        f"2014-02-24 18:05:12 27734 [Note] {SHUT_DOWN}",
        f"2014-02-24 18:05:12 7f99930b76c0  {SHUT_DOWN}",
        f"2016-05-30 18:19:04 140737353992960 [Note] {SHUT_DOWN}",
        f"2026-11-21  4:38:27 0 [Note] {SHUT_DOWN}",
        f"2016-05-30T18:19:04.035978Z 0 [Note] {SHUT_DOWN}",
        "2021-04-05T13:34:50.020000+02:00 1 [Note] [MY-012551] [InnoDB] Database was not shutdown normally!",
        '{"subsystem" : "InnoDB", "msg" : "Database was not shutdown normally!", "time" : "2021-04-05T13:34:50.020000Z"}',
        '{"subsystem" : "InnoDB", "msg" : "Database was not shutdown normally!", "ts" : 1617629690020}',
        ' 3 4 5{ "subsystem" : "InnoDB", "msg" : "Database was not shutdown normally!", "time" : "2021-04-05T13:34:50.020000Z" }',
    ],
)
@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "db-1  | ",
        "[pod/mysql-0/mysql] ",
        "mysql-0 mysql 2024-01-01T00:00:00.123456789Z ",
        "2024-01-01T00:00:00.123456789Z ",
        "2024-01-01T00:00:00.123456789Z stderr F ",
        "db-1  | 2024-01-01T00:00:00.123456789Z ",
        "2024-01-01T00:00:00+0200 host mysqld[123]: ",
        "2024-01-01T00:00:00+02:00 host mysqld[123]: ",
        "Nov 21 09:07:57.580032 host mariadbd[123]: ",
        "Nov  1 09:07:57 host mysqld: ",
    ],
)
def test_a_servers_stamp_behind_any_prefix(prefix: str, line: str) -> None:
    record = one(prefix + line)
    assert record.server is not None
    assert (record.collector is None) == (":" not in prefix)
    assert record.text == "Database was not shutdown normally!"
    assert matters(prefix + line)


def test_a_collectors_stamp_on_a_line_that_has_none() -> None:
    record = one("2024-01-01T00:00:00.5Z stderr F InnoDB: Apply batch completed")
    assert record.server is None
    assert record.collector is not None
    assert record.text == "Apply batch completed"


def test_writers_are_told_apart_by_what_their_collector_says() -> None:
    record = one(f"2024-01-01T00:00:00+02:00 db7 mysqld[123]: {SHUT_DOWN}")
    assert (record.stream, record.group) == ("db7 mysqld[123]", "db7 mysqld")


def test_entries_of_the_journal_as_json() -> None:
    entry = (
        '{"MESSAGE":"InnoDB: Apply batch completed","__REALTIME_TIMESTAMP":"1617629690020000",'
        '"_HOSTNAME":"db7","SYSLOG_IDENTIFIER":"mysqld","_PID":"123"}'
    )
    record = one(entry)
    assert record.stream == "db7 mysqld[123]"
    assert record.collector is not None
    assert record.collector.us == 1617629690020000
    instance = one(entry.replace('"_PID"', '"_SYSTEMD_UNIT":"mysqld@2.service","_PID"'))
    assert instance.group == "db7 mysqld@2"


@pytest.mark.parametrize("key", ["log", "MESSAGE"])
def test_mysqls_json_in_the_json_of_a_collector(key: str) -> None:
    sink = '{ "prio" : 3, "err_code" : 12551, "subsystem" : "InnoDB", "msg" : "Database was not shutdown normally!", '
    sink += '"time" : "2021-04-05T10:20:31.000000Z", "label" : "Note" }'
    record = one(json.dumps({key: f"{sink}\n", "stream": "stderr", "time": "2021-04-05T10:20:32.5Z"}))
    assert record.text == "Database was not shutdown normally!"
    assert record.server is not None
    assert (record.collector is not None) is (key == "log")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "InnoDB: Progress in percents: 12026-11-21T09:07:57.580032Z 0 [Note] InnoDB: Waiting for purge to start",
            ["Progress in percents: 1", "Waiting for purge to start"],
        ),
        (
            " 22026-11-21T09:07:57.580032Z 0 [Note] /x/mysqld: ready for connections.",
            ["2", "/x/mysqld: ready for connections."],
        ),
        (
            " 2 3 112026-11-21 10:11:55 2 [Note] InnoDB: 5.6.24 started; log sequence number 401512796",
            ["2 3 11", "5.6.24 started; log sequence number 401512796"],
        ),
        (
            "InnoDB: Progress in percents: 1140930  9:26:14  InnoDB: Waiting for the background threads to start",
            ["Progress in percents: 1", "Waiting for the background threads to start"],
        ),
        (
            "2026-11-21 10:02:00 0 [Note] InnoDB: Buffer pool(s) load completed at 261121 10:02:00",
            ["Buffer pool(s) load completed at 261121 10:02:00"],
        ),
    ],
)
def test_stamps_in_the_middle_of_a_line(line: str, said: list[str]) -> None:
    assert [record.text.strip() for record in records(line)] == said


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("/usr/sbin/mysqld: ready for connections.", Event.READY),
        (r"C:\Program Files\MySQL\bin\mysqld.exe: ready for connections.", Event.READY),
        ("X Plugin ready for connections. Bind-address: '::' port: 33060", None),
        ("Admin interface ready for connections, address: '127.0.0.1'  port: 33062", None),
        ("Starting crash recovery...", Event.XA_RECOVERY),
        ("Starting crash recovery.", Event.CRASH_RECOVERY),
        ("/usr/sbin/mysqld (mysqld 5.7.22) starting as process 2 ...", Event.START),
        (r"C:\mysql\bin\mysqld.exe (mysqld 8.0.15) starting as process 1234", Event.START),
        ("Starting MariaDB 11.8.6-MariaDB-0+deb13u1 from Debian source revision 9b as process 2", Event.START),
        ("To recover: 12 pages from log", Event.PARSED),
        ("Access denied for user 'x: ready for connections.'", None),
    ],
)
def test_events(text: str, event: Event | None) -> None:
    meaning = meaning_of(text)
    assert (meaning and meaning.row.event) == event


LINE = f"2026-11-21  4:38:27 0 [Note] {SHUT_DOWN}".encode()


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (b"", 0),
        (b"\n", 0),
        (LINE, 1),
        (LINE + b"\r\n" + LINE + b"\n", 2),
        (LINE + b"\0" * 100_000 + LINE, 2),
        (b"x" * 3_000_000 + LINE, 1),
        (b"x" * 3_000_000 + b"\n" + LINE + b"\n" + b"\xff\xfe" * 1_000_000, 1),
        (b"DB: DATABASE\n" * 10_000 + LINE, 1),
        (b"no such thing\n" * 100_000 + LINE + b"\n" + b"no such thing\n" * 100_000, 1),
        (bytes(range(256)) * 1000, 0),
    ],
)
def test_reading(content: bytes, count: int) -> None:
    *read, last = [line.text for line in read_log(io.BytesIO(content))] or [""]
    # The last line is read whatever it says.
    read += [last] if SHUT_DOWN in last else []
    assert len(read) == count
    assert all(text.endswith(SHUT_DOWN) for text in read)


@given(st.integers(0, 600_000))
def test_a_line_is_found_wherever_it_stands(before: int) -> None:
    noise = b"[Warning] Aborted connection 12 to db: 'shop'\n"
    content = (noise * (before // len(noise) + 1))[:before] + b"\n" + LINE + b"\n" + noise
    found, last = read_log(io.BytesIO(content))
    assert (found.text, last.text) == (LINE.decode(), noise.decode().rstrip())


@given(st.binary(max_size=2000))
def test_any_bytes(content: bytes) -> None:
    assert list(timelines(read_log(io.BytesIO(content)))) == []
