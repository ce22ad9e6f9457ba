"""Files that `redolab slowlog digest` writes, and those that it leaves; `tests/commands/printed` has what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from tests.command import redolab
from tests.slowlog.digest.golden import SLOW

_LOG = str(SLOW / "mysql-8.0.log")


def test_json_and_parquet_have_all_classes(tmp_path: Path) -> None:
    file = tmp_path / "digest.parquet"
    done = redolab("slowlog", "digest", _LOG, "--json", "-o", str(file), "--limit", "1")
    found = json.loads(done.stdout)
    frame = pl.read_parquet(file)
    assert frame["fingerprint"].to_list() == [each["fingerprint"] for each in found["classes"]]
    assert frame["seconds_p95"].to_list() == [each["seconds"]["p95"] for each in found["classes"]]
    assert frame["count"].sum() == found["count"]


def test_an_empty_log_is_no_success(tmp_path: Path) -> None:
    empty = tmp_path / "slow.log"
    empty.touch()
    done = redolab("slowlog", "digest", str(empty))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)


def test_a_log_is_not_written_over(tmp_path: Path) -> None:
    log = tmp_path / "slow.log"
    log.write_bytes(Path(_LOG).read_bytes())
    other = tmp_path / "slow.log.1"
    other.write_bytes(log.read_bytes())
    for output in (log, other):
        assert redolab("slowlog", "digest", str(log), "-o", str(output)).returncode == 2
    assert log.read_bytes() == other.read_bytes() == Path(_LOG).read_bytes()
    again = tmp_path / "digest.parquet"
    again.touch()
    for _ in range(2):
        assert redolab("slowlog", "digest", str(log), "-o", str(again)).returncode == 0
