"""`redolab timeline` on the logs that people bring; its wording stands in `tests/commands/printed/`."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redolab.errorlog import timelines
from redolab.errorlog.files import read_log
from redolab.errorlog.picture import picture
from redolab.project import PROJECT
from tests.command import redolab
from tests.logs import FORMS, REAL

MARIADB = FORMS / "mariadb-10.11.log"
BAR = "█"


def in_json(log: Path) -> dict[str, Any]:
    """Return the command's output on a log, for programs."""
    done = redolab("timeline", "--json", str(log))
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def written(folder: Path, content: bytes) -> Path:
    log = folder / "error.log"
    log.write_bytes(content)
    return log


def test_a_file_name_that_is_not_utf_8_is_shown(tmp_path: Path) -> None:
    log = tmp_path / os.fsdecode(b"caf\xe9.log")
    log.write_bytes(MARIADB.read_bytes())
    shown = f"{tmp_path}/caf\N{REPLACEMENT CHARACTER}.log"
    assert in_json(log)["file"] == shown
    done = redolab("timeline", str(log), environment={"PYTHONIOENCODING": "utf-8:strict"})
    assert done.stderr == ""
    assert shown in done.stdout


@pytest.mark.parametrize(
    "name",
    [
        "real/mysql-5.7-small-pool",
        "real/mariadb-10.11-two-batches-8G",
        "forms/percona-5.7",
        "forms/mysql-8.0-crash-loop",
    ],
)
def test_bars_are_to_scale_and_follow_each_other(name: str) -> None:
    for timeline in timelines(read_log(FORMS.parent / f"{name}.log")):
        bars = [line for line in picture(timeline) if BAR in line]
        timed = [time.seconds for time in timeline.phases if time.seconds]
        assert len(bars) == len(timed)
        ends = [bar.rindex(BAR) for bar in bars]
        assert ends == sorted(ends)
        longest = max(timed)
        assert max(bar.count(BAR) for bar in bars) == bars[timed.index(longest)].count(BAR)
        assert all(len(bar) <= 80 for bar in bars)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("log", ["-", "<(cat)"], ids=["standard input", "pipe"])
def test_a_log_need_not_be_a_file(log: str, pack: Callable[[bytes], bytes]) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m redolab timeline --json {log}"],
        input=pack(MARIADB.read_bytes()),
        capture_output=True,
        check=True,
        cwd=PROJECT.root,
    )
    assert json.loads(done.stdout)["recoveries"] == in_json(MARIADB)["recoveries"]


@pytest.mark.parametrize(
    "content",
    [b"", b"just words\n", bytes(range(256)) * 1000, b"InnoDB: " + b"x" * 3_000_000],
    ids=["empty", "words", "binary", "long line"],
)
def test_a_log_without_a_recovery_has_none(content: bytes, tmp_path: Path) -> None:
    log = written(tmp_path, content)
    assert in_json(log)["recoveries"] == []
    assert redolab("timeline", str(log)).returncode == 0


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_log_is_read_also_where_it_is_torn(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    packed = pack(MARIADB.read_bytes())
    whole = in_json(MARIADB)["recoveries"]
    assert in_json(written(tmp_path, packed))["recoveries"] == whole
    torn = redolab("timeline", "--json", str(written(tmp_path, packed[:-1])))
    assert (torn.returncode, torn.stderr.count("\n")) == (1, 1)
    assert json.loads(torn.stdout)["recoveries"] == whole


@pytest.mark.parametrize("server", ["mysql-8.0", "mysql-9"])
def test_starts_without_notes_are_told_apart_from_recoveries(server: str) -> None:
    """The first of the log is a recovery by the binary log's lines, of the clean one nothing tells."""
    found = in_json(REAL / f"{server}-verbosity2-binlog.log")
    assert (len(found["recoveries"]), found["undecided"]["count"]) == (1, 1)
    assert found["undecided"]["last"][0]["before"] == "server was shut down"
    alike = in_json(REAL / f"{server}-verbosity2.log")
    assert (alike["recoveries"], alike["undecided"]["count"]) == ([], 2)


def test_a_crash_loop_is_told_once() -> None:
    found = in_json(FORMS / "mysql-8.0-crash-loop.log")
    assert len(found["recoveries"]) == 7
    (loop,) = found["crash_loops"]
    assert (loop["starts"], loop["recoveries"], loop["reached"], loop["seconds"]) == (6, 6, 0, 61.0)
    assert [each["count"] for each in loop["ended"]] == [4, 2]


def test_a_server_that_dies_after_ready_again_and_again_is_a_crash_loop_too(tmp_path: Path) -> None:
    recovery = MARIADB.read_bytes()
    died = b"261121  4:41:00 [ERROR] mysqld got signal 11 ;\n"
    found = in_json(written(tmp_path, 3 * (recovery + died) + recovery))
    (loop,) = found["crash_loops"]
    assert (loop["starts"], loop["reached"], found["starts"]["crashes"]) == (3, 3, 0)
    assert loop["ended"] == [{"count": 3, "ended": "server crashed (signal 11)"}]


def test_the_thread_that_fails_is_another_each_time_and_the_end_is_the_same(tmp_path: Path) -> None:
    died = (
        "2026-11-21  4:41:00 0 [ERROR] InnoDB: Assertion failure in thread {} in file a.cc\n"
        "261121  4:41:00 [ERROR] mysqld got signal 6 ;\n"
    )
    log = "".join(MARIADB.read_text() + died.format(140690101622528 + number) for number in range(3))
    (loop,) = in_json(written(tmp_path, log.encode()))["crash_loops"]
    assert [each["count"] for each in loop["ended"]] == [3]


def test_starts_that_were_clean_are_counted_and_are_no_loop() -> None:
    found = in_json(FORMS / "clean-starts.log")
    assert found["starts"]["clean"] == found["starts"]["count"] > 0
    assert found["crash_loops"] == []


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("mysql-8.0-port-in-use-at-the-end", 3, "server"),
        ("mariadb-5.5-dies-in-the-doublewrite-buffer", 3, "server"),
        ("xtrabackup-8.0.35-fails", 3, "backup prepare"),
        ("xtrabackup-2.4-prepare", 0, "backup prepare"),
        ("mariadb-10.6-asked-for-its-position", 0, "wsrep-recover"),
        ("mysql-8.0-crash-loop", 0, "server"),
    ],
)
def test_the_exit_status_says_whether_the_last_start_is_ready(name: str, status: int, kind: str) -> None:
    done = redolab("timeline", "--json", str(FORMS / f"{name}.log"))
    (last,) = json.loads(done.stdout)["starts"]["last"]
    assert (done.returncode, done.stderr, last["kind"], last["reached"]) == (status, "", kind, status == 0)


def test_several_recoveries_and_a_truncated_last_line(tmp_path: Path) -> None:
    whole = MARIADB.read_bytes()
    log = written(tmp_path, whole + whole + whole[: len(whole) * 2 // 3].rstrip(b"\n"))
    assert [each["complete"] for each in in_json(log)["recoveries"]] == [True, True, False]


def test_a_missing_file_is_one_line_and_the_others_are_read(tmp_path: Path) -> None:
    done = redolab("timeline", "--json", str(tmp_path / "none.log"), str(tmp_path), str(MARIADB))
    assert (done.returncode, done.stderr.count("\n")) == (1, 2)
    assert [json.loads(line)["file"] for line in done.stdout.splitlines()] == [str(MARIADB)]
