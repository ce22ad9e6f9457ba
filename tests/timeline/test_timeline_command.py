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


def test_the_published_crashes_come_out_as_their_stamps_say() -> None:
    logs = sorted(FORMS.glob("published-stamps-*.log"))
    found = [json.loads(line) for line in redolab("timeline", "--json", *map(str, logs)).stdout.splitlines()]
    seconds = {Path(each["file"]).stem.removeprefix("published-stamps-5.5.7-"): each["recoveries"] for each in found}
    assert {
        name: [each["seconds_to_ready"] or each["seconds"] for each in found] for name, found in seconds.items()
    } == {
        "52G-flash": [8 * 60 + 9],
        "144G-flash": [9 * 60 + 23],
        "144G-raid10": [14 * 60 + 57],
    }


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


def test_standard_input_is_a_log_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "redolab", "timeline", "-"],
        input=MARIADB.read_bytes(),
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


def test_a_torn_compressed_log_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    log = tmp_path / "error.log.gz"
    log.write_bytes(gzip.compress(MARIADB.read_bytes() + b"x" * 1000, mtime=0)[:-20])
    done = redolab("timeline", str(log))
    assert (done.returncode, done.stderr) == (0, "")


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
