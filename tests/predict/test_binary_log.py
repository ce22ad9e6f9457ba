"""The binary log's part of predicted recoveries, by the shipped calibration."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from redolab.predict.asking import model_for
from redolab.predict.question import Question
from redolab.predict.recovery import recovery_at
from redolab.predict.why import why
from redolab.servers.dialects import LARGEST_BINARY_LOG
from redolab.units import GIB, MIB
from tests.command import redolab

ASKED = Question(server="mysql-9", storage="gp3-3000", pool=4 * GIB)


@pytest.mark.parametrize(
    ("server", "largest"),
    [("mysql-9", LARGEST_BINARY_LOG), ("mysql-8.0", LARGEST_BINARY_LOG), ("mysql-5.7", 0), ("mariadb-11.8", 0)],
)
def test_it_is_taken_to_be_on_where_it_is_so_as_shipped(server: str, largest: int) -> None:
    assert model_for(replace(ASKED, server=server)).binary_log == largest


def test_its_last_file_is_read_as_fast_as_the_disk_gives_it_and_once_more_from_memory_by_mysql() -> None:
    without, with_it = (model_for(replace(ASKED, binary_log=size)) for size in (0, 512 * MIB))
    more = recovery_at(with_it, GIB).seconds - recovery_at(without, GIB).seconds
    parsed, again = with_it.server.binary_log_mb_s, with_it.server.binary_log_again_mb_s
    assert parsed
    assert again
    assert more == pytest.approx(512 * MIB / 1e6 * (1 / min(parsed, with_it.disk.sequential_mb_s) + 1 / again))
    assert model_for(replace(ASKED, server="mariadb-11.8")).server.binary_log_again_mb_s is None
    told = why(with_it, GIB)
    assert told.binary_log_s == pytest.approx(more)
    assert sum(each.seconds for each in told.terms) + more == pytest.approx(told.seconds)


def test_the_command_takes_its_size() -> None:
    options = ("predict", "--server", "mysql-9", "--log-size", "1G", "--pool", "4G", "--json")
    usual, without = (json.loads(redolab(*options, *more).stdout) for more in ((), ("--binary-log", "0")))
    assert (usual["binary_log"], without["binary_log"]) == (LARGEST_BINARY_LOG, 0)
    assert usual["ready_s"] > without["ready_s"]
