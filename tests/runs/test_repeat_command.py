"""The command that does a run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.throughput.factors import Factors
from redolab.runs.factors import read_factors
from redolab.runs.repeat_command import command
from redolab.runs.store import Run, RunStore, new_session
from redolab.units import GIB, MIB
from tests.examples import MACHINE


def run_with(folder: Path, factors: Factors) -> Run:
    return RunStore(folder).create("throughput", factors.in_words(), new_session(MACHINE, "abc", {}))


def test_it_has_what_is_not_the_default_and_what_is_to_be_seen_always(tmp_path: Path) -> None:
    asked = Factors(server=("mariadb-11.8",), log_size=(256 * MIB, GIB), limit=1200.0, pool=10**9, seed=7)
    said = command(run_with(tmp_path, asked), Factors(), always=["server", "log_size"])
    # A billion bytes are no whole number of any unit.
    assert said == ("make experiment throughput SERVER=mariadb-11.8 LOGSIZE=256M,1G POOL=1000000000 LIMIT=1200s")


@pytest.mark.parametrize("variable", ["LOGSIZE=256M,1G", "POOL=1000000000", "LIMIT=1200s"])
def test_what_it_says_is_read_as_what_was_asked(variable: str) -> None:
    name, value = variable.split("=")
    field = {"LOGSIZE": "log_size", "POOL": "pool", "LIMIT": "limit"}[name]
    wanted = {"log_size": (256 * MIB, GIB), "pool": 10**9, "limit": 1200.0}[field]
    assert getattr(read_factors(Factors, {field: value}), field) == wanted
