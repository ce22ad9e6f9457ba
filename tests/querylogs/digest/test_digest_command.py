"""`redolab slowlog digest` as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from tests.command import redolab
from tests.querylogs.digest.golden import SLOW

_LOG = str(SLOW / "mysql-8.0.log")


def test_the_answer_comes_first_then_the_classes_then_the_rest() -> None:
    done = redolab("slowlog", "digest", _LOG, "--limit", "3")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "queries of 34 classes took" in lines[0]
    assert "at a time" in lines[0]
    assert [line.split()[0] for line in lines[3:6]] == ["1", "2", "3"]
    assert "31 more" in lines[6]


def test_json_and_parquet_have_all_classes(tmp_path: Path) -> None:
    file = tmp_path / "digest.parquet"
    done = redolab("slowlog", "digest", _LOG, "--json", "-o", str(file), "--limit", "1")
    found = json.loads(done.stdout)
    frame = pl.read_parquet(file)
    assert frame["fingerprint"].to_list() == [each["fingerprint"] for each in found["classes"]]
    assert frame["seconds_p95"].to_list() == [each["seconds"]["p95"] for each in found["classes"]]
    assert frame["count"].sum() == found["count"]


def test_no_query_is_no_success(tmp_path: Path) -> None:
    empty = tmp_path / "slow.log"
    empty.touch()
    for arguments, status in (
        ((str(empty),), 1),
        ((_LOG, "--since", "2100-01-01"), 1),
        ((str(tmp_path / "missing.log"),), 1),
        ((str(tmp_path),), 1),
        ((_LOG, "--since", "yesterday"), 2),
        ((_LOG, "--limit", "0"), 2),
    ):
        done = redolab("slowlog", "digest", *arguments)
        assert done.returncode == status
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_a_log_is_not_written_over(tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    log.write_bytes(Path(_LOG).read_bytes())
    other = tmp_path / "slow.log.1"
    other.write_bytes(log.read_bytes())
    for output, said in ((log, "is one of the logs"), (other, "is there and no Parquet")):
        done = redolab("slowlog", "digest", str(log), "-o", str(output))
        assert done.returncode == 2
        assert said in done.stderr
    assert log.read_bytes() == other.read_bytes() == Path(_LOG).read_bytes()
    again = tmp_path / "digest.parquet"
    again.touch()
    for _ in range(2):
        assert redolab("slowlog", "digest", str(log), "-o", str(again)).returncode == 0
