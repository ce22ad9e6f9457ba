"""What data/published/ says agrees with its own stamps, and with what the parser finds in logs that have them."""

from __future__ import annotations

import tomllib
from datetime import datetime
from pathlib import Path

import pytest

from redolab.errorlog import timelines
from redolab.errorlog.files import read_log
from redolab.project import PROJECT

PUBLISHED = tomllib.loads((PROJECT.root / "data/published/recovery-2010.toml").read_text())
CRASHES = PUBLISHED["crash"]
LOGS = Path(__file__).parent / "logs/forms"


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: f"{crash['buffer_pool']} {crash['storage']}")
def test_seconds_are_those_between_the_stamps(crash: dict[str, str | int]) -> None:
    began, ended = (datetime.strptime(str(crash[name]), "%y%m%d %H:%M:%S") for name in ("began", "ended"))
    assert (ended - began).total_seconds() == crash["seconds"]
    minutes, seconds = divmod(int(crash["seconds"]), 60)
    agrees = crash["as_published"] == f"{minutes} min {seconds} s"
    assert agrees or "disagrees with its own stamps" in str(crash["note"])


def test_the_parser_finds_the_same() -> None:
    found = [next(timelines(read_log(log))).seconds for log in LOGS.glob("published-stamps-*.log")]
    assert sorted(seconds or 0 for seconds in found) == sorted(crash["seconds"] for crash in CRASHES)


QUERY_LOGS = tomllib.loads((PROJECT.root / "data/published/query-logs.toml").read_text())


def test_what_logging_costs_is_the_ratio_of_what_was_published() -> None:
    rows = [row for each in QUERY_LOGS["impact"]["measured"] for row in each["rows"] if "ratio" in row]
    assert len(rows) == 6
    for row in rows:
        assert row["all"] / row["none"] == pytest.approx(row["ratio"], abs=0.005)
