"""`redolab timeline` on the logs that people bring."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from redolab.project import PROJECT
from tests.command import redolab

LOGS = Path(__file__).parent.parent / "logs"
FORMS = LOGS / "forms"
MARIADB = FORMS / "mariadb-10.11.log"


def test_phases_as_text() -> None:
    done = redolab("timeline", str(MARIADB))
    assert done.returncode == 0
    assert "recovery 1 of 1" in done.stdout
    for word in ("discover", "scan", "apply", "open", "accept", "rollback after ready", "clock"):
        assert word in done.stdout


def test_json_has_every_phase_with_seconds_or_why() -> None:
    (line,) = redolab("timeline", "--json", str(MARIADB)).stdout.splitlines()
    (recovery,) = json.loads(line)["recoveries"]
    assert [phase["phase"] for phase in recovery["phases"]] == [
        "discover",
        "scan",
        "apply",
        "open",
        "accept",
        "rollback",
    ]
    assert all((phase["seconds"] is None) == (phase["why"] is not None) for phase in recovery["phases"])
    assert recovery["resolution"] > 0


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_is_a_log_too(pack: Callable[[bytes], bytes]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "redolab", "timeline", "-"],
        input=pack(MARIADB.read_bytes()),
        capture_output=True,
        check=True,
        cwd=PROJECT.root,
    )
    assert b"recovery 1 of 1" in done.stdout


@pytest.mark.parametrize(
    "content",
    [b"", b"just words\n", bytes(range(256)) * 1000, b"InnoDB: " + b"x" * 3_000_000],
    ids=["empty", "words", "binary", "long line"],
)
def test_a_log_without_a_recovery_says_so(content: bytes, tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    log.write_bytes(content)
    done = redolab("timeline", str(log))
    assert (done.returncode, done.stderr) == (0, "")
    assert "no crash recovery in it" in done.stdout


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_log_is_read_as_it_is(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    log = tmp_path / "error.log.1"
    log.write_bytes(pack(MARIADB.read_bytes()))
    assert "recovery 1 of 1" in redolab("timeline", str(log)).stdout


@pytest.mark.parametrize(("pack", "is_there"), [(gzip.compress, True), (bz2.compress, True), (lzma.compress, True)])
def test_a_torn_compressed_log_is_read_as_far_as_it_goes(
    pack: Callable[[bytes], bytes], is_there: bool, tmp_path: Path
) -> None:
    log = tmp_path / "error.log.gz"
    log.write_bytes(pack(MARIADB.read_bytes())[:-1])
    done = redolab("timeline", str(log))
    assert done.returncode == 1
    assert "is damaged" in done.stderr
    # bzip2 and xz may hold it in one block.
    assert ("recovery 1 of 1" in done.stdout) is is_there


def test_a_log_through_a_pipe(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m redolab timeline <(cat {MARIADB})"],
        capture_output=True,
        check=True,
        cwd=PROJECT.root,
    )
    assert b"recovery 1 of 1" in done.stdout


def test_starts_without_notes_are_told_apart_from_recoveries() -> None:
    """The first of the log is a recovery by the binary log's lines, of the clean one nothing tells."""
    log = str(LOGS / "real/mysql-9-verbosity2-binlog.log")
    (line,) = redolab("timeline", "--json", log).stdout.splitlines()
    found = json.loads(line)
    assert (len(found["recoveries"]), found["undecided"]["count"]) == (1, 1)
    assert found["undecided"]["last"][0]["before"] == "server was shut down"
    said = redolab("timeline", log).stdout
    assert "recovery 1 of 1" in said
    assert "whether 1 start recovered, the log cannot tell: InnoDB's notes are not in the log" in said
    alike = redolab("timeline", str(LOGS / "real/mysql-9-verbosity2.log")).stdout
    assert "whether 2 starts recovered" in alike
    assert "no crash recovery in it" not in alike


def test_a_crash_loop_is_told_once() -> None:
    log = str(FORMS / "mysql-8.0-crash-loop.log")
    said = redolab("timeline", log).stdout
    assert "crash loop, 6 starts in 1 min 1 s" in said
    assert "4 × server crashed (signal 6): Assertion failure: page0page.h:512" in said
    assert [number for number in range(1, 8) if f"recovery {number} of 7" in said] == [1, 6, 7]
    found = json.loads(redolab("timeline", "--json", log).stdout)
    assert len(found["recoveries"]) == 7
    (loop,) = found["crash_loops"]
    assert (loop["starts"], loop["recoveries"], loop["reached"], loop["seconds"]) == (6, 6, 0, 61.0)
    assert [each["count"] for each in loop["ended"]] == [4, 2]


def test_a_server_that_dies_after_ready_again_and_again_is_a_crash_loop_too(tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    recovery = MARIADB.read_text()
    log.write_text(3 * (recovery + "261121  4:41:00 [ERROR] mysqld got signal 11 ;\n") + recovery)
    (loop,) = json.loads(redolab("timeline", "--json", str(log)).stdout)["crash_loops"]
    assert (loop["starts"], loop["reached"]) == (3, 3)
    assert loop["ended"] == [{"count": 3, "ended": "server crashed (signal 11)"}]


def test_the_thread_that_fails_is_another_each_time_and_the_end_is_the_same(tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    died = (
        "2026-11-21  4:41:00 0 [ERROR] InnoDB: Assertion failure in thread {} in file a.cc\n"
        "261121  4:41:00 [ERROR] mysqld got signal 6 ;\n"
    )
    log.write_text("".join(MARIADB.read_text() + died.format(140690101622528 + number) for number in range(3)))
    (loop,) = json.loads(redolab("timeline", "--json", str(log)).stdout)["crash_loops"]
    assert [each["count"] for each in loop["ended"]] == [3]


def test_starts_that_were_clean_are_counted_and_are_no_loop() -> None:
    log = str(FORMS / "clean-starts.log")
    said = redolab("timeline", log).stdout
    found = json.loads(redolab("timeline", "--json", log).stdout)
    assert found["starts"]["clean"] == found["starts"]["count"] > 0
    assert found["crash_loops"] == []
    assert f"no crash recovery in it: {found['starts']['clean']} clean starts" in said


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        (
            "mysql-8.0-port-in-use-at-the-end",
            3,
            "is not ready: server gave up: Do you already have another mysqld server running on port: 3306 ?",
        ),
        ("mariadb-5.5-dies-in-the-doublewrite-buffer", 3, "is not ready: server ended"),
        (
            "xtrabackup-8.0.35-fails",
            3,
            "(backup prepare, 2024-01-19 12:23:11.312444+00:00) is not ready: prepare gave up",
        ),
        ("xtrabackup-2.4-prepare", 0, "the last start (backup prepare): completed OK!"),
        ("mariadb-10.6-asked-for-its-position", 0, "recovered position"),
        ("mysql-8.0-crash-loop", 0, "recovery 7 of 7"),
    ],
)
def test_the_exit_status_says_whether_the_last_start_is_ready(name: str, status: int, said: str) -> None:
    done = redolab("timeline", str(FORMS / f"{name}.log"))
    assert (done.returncode, done.stderr) == (status, "")
    assert said in done.stdout


def test_several_recoveries_and_a_truncated_last_line(tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    whole = MARIADB.read_bytes()
    log.write_bytes(whole + whole + whole[: len(whole) * 2 // 3].rstrip(b"\n"))
    (line,) = redolab("timeline", "--json", str(log)).stdout.splitlines()
    recoveries = json.loads(line)["recoveries"]
    assert len(recoveries) == 3
    assert [each["complete"] for each in recoveries] == [True, True, False]


def test_a_missing_file_is_one_line_and_the_others_are_read(tmp_path: Path) -> None:
    done = redolab("timeline", str(tmp_path / "none.log"), str(tmp_path), str(MARIADB))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 2
    assert "none.log cannot be read (No such file or directory)" in done.stderr
    assert "recovery 1 of 1" in done.stdout
