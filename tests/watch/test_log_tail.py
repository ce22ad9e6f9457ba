"""A log that grows: what is there counts by its stamps, what comes by its arrival."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from redolab.clock import Instant, now
from redolab.watch.following.log_tail import LogTail

LATE = 5400.0
"""Seconds since the last line."""


def stamped(ago: float, text: str, _zone: float = 0.0) -> str:
    """A line of MySQL 5.7 and later, written so long ago: its stamps are in UTC."""
    at = datetime.now(UTC) - timedelta(seconds=ago)
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}Z 0 [Note] InnoDB: {text}\n"


def old(ago: float, text: str, zone: float) -> str:
    """A line of MySQL 5.5: local time, no zone."""
    at = datetime.now(UTC) - timedelta(seconds=ago) + timedelta(hours=zone)
    return f"{at:%y%m%d %H:%M:%S} InnoDB: {text}\n"


def written(path: Path, text: str, ago: float) -> Path:
    path.write_text(text)
    os.utime(path, (time.time() - ago,) * 2)
    return path


def ages(tail: LogTail) -> list[float]:
    """Seconds since each record was written."""
    instant = now()
    return [instant.monotonic - each.at for each in tail.new_records(instant)]


@pytest.mark.parametrize(("line", "zone"), [(stamped, 0.0), (old, 0.0), (old, 5.75), (old, -8.0)])
def test_what_is_there_counts_by_its_stamps_whatever_their_zone(
    line: Callable[[float, str, float], str], zone: float, tmp_path: Path
) -> None:
    log = written(tmp_path / "error.log", line(LATE + 60, "one", zone) + line(LATE, "two", zone), LATE)
    tail = LogTail(log)
    assert ages(tail) == [pytest.approx(LATE + 60, abs=2), pytest.approx(LATE, abs=2)]

    with log.open("a") as file:
        # Late by an hour, as by a clock that is wrong.
        file.write(line(3600, "three", zone))
    assert ages(tail) == [pytest.approx(0, abs=2)]
    tail.close()


def test_silence_after_the_last_stamp_is_no_zone(tmp_path: Path) -> None:
    """MySQL 5.5 and 5.7 print percents without a stamp, for minutes: the file is younger than its last stamp."""
    log = written(tmp_path / "error.log", stamped(1200, "one") + "1 2 3\n", 0)
    assert ages(LogTail(log)) == [pytest.approx(1200, abs=2)] * 2


def test_lines_stay_in_order_where_the_clock_was_set_back(tmp_path: Path) -> None:
    """Two lines were stamped by a clock that was 70 s ahead: they are not later than the first one after it was set back."""
    lines = [stamped(ago, text) for ago, text in ((40 - 70, "one"), (35 - 70, "two"), (30, "three"), (5, "four"))]
    tail = LogTail(written(tmp_path / "error.log", "".join(lines), 5))
    assert ages(tail) == [pytest.approx(each, abs=2) for each in (30, 30, 30, 5)]


def test_a_line_that_comes_is_as_old_as_the_look_that_found_it(tmp_path: Path) -> None:
    """Whatever the wall clock says by then."""
    log = tmp_path / "error.log"
    log.write_text("")
    tail = LogTail(log)
    assert tail.new_records(Instant(monotonic=100.0, wall=1000.0)) == []
    log.write_text(stamped(0, "one"))
    assert [each.at for each in tail.new_records(Instant(monotonic=101.0, wall=1071.0))] == [101.0]


def test_stamps_of_a_collector_are_not_mixed_with_the_servers(tmp_path: Path) -> None:
    """As journald prints them: without a year in front, and the server's own behind."""
    now = datetime.now(UTC)
    at = f"{now - timedelta(seconds=30):%b %d %H:%M:%S}"
    lines = f"{at} db mysqld[77]: {stamped(30, 'one')}{at} db systemd[1]: Starting MySQL...\n"
    log = written(tmp_path / "error.log", lines, 30)
    assert ages(LogTail(log)) == [pytest.approx(30, abs=2)] * 2


def test_a_log_that_is_rotated_or_cut_is_read_on(tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    log.write_text(stamped(1, "one"))
    tail = LogTail(log)
    assert len(tail.new_records(now())) == 1
    log.rename(tmp_path / "error.log.1")
    assert tail.new_records(now()) == []
    log.write_text(stamped(0, "two"))
    assert [each.record.text for each in tail.new_records(now())] == ["two"]
    with log.open("r+b") as file:
        file.truncate(0)
    tail.new_records(now())
    with log.open("a") as file:
        file.write("half a ")
        file.flush()
        assert tail.new_records(now()) == []
        file.write("line\n")
    assert [each.record.text for each in tail.new_records(now())] == ["half a line"]
    tail.close()


def heard_from_a_pipe(pieces: Sequence[tuple[str, float]]) -> str:
    """How many tens of seconds ago each line was written, by reading; each piece with the seconds after it."""
    code = (
        "import time\n"
        "from redolab.clock import now\n"
        "from redolab.watch.following.log_tail import LogTail\n"
        "tail, found = LogTail(None), []\n"
        "while not tail.has_ended:\n"
        "    new = tail.new_records(now())\n"
        "    found += [[round(now().monotonic - each.at, -1) for each in new]] if new else []\n"
        "    time.sleep(0.05)\n"
        "print(found)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        for text, seconds in pieces:
            reader.stdin.write(text)
            reader.stdin.flush()
            time.sleep(seconds)
        reader.stdin.close()
        return reader.stdout.read().strip()


def test_a_pipe_has_a_backlog_too() -> None:
    """As of 'docker logs -f': what comes at once is from before."""
    before = stamped(600, "one") + stamped(300, "two")
    assert heard_from_a_pipe([(before, 2.5), (stamped(100, "three"), 0.5)]) == "[[600.0, 300.0], [0.0]]"


def test_what_comes_in_pieces_is_understood_by_the_last_of_all() -> None:
    """As of 'journalctl -n all -f': a server's earlier starts come first, weeks old, and a pipe holds 64 KiB at a time."""
    earlier, last = old(20 * 86400, "one", 0.0), old(1200, "two", 0.0)
    assert heard_from_a_pipe([(earlier, 0.5), (last, 2.5)]) == "[[1728000.0, 1200.0]]"
