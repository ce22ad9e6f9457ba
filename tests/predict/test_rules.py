"""What others would set: each rule by the examples of its source, for the servers that it is for."""

from __future__ import annotations

import json

import pytest

from redolab.predict.rules import ServerFacts, published_rules, size_by
from redolab.servers.dialects import Version
from redolab.units import GIB, MIB
from tests.command import redolab

RULES = {rule.name: rule for rule in published_rules()}


def size(name: str, **facts: float) -> float | None:
    """In GiB."""
    given = {key: round(value) for key, value in {"pool": GIB, **facts}.items()}
    found = size_by(RULES[name], ServerFacts(**given))
    return None if found is None else found / GIB


@pytest.mark.parametrize(("rate", "wanted"), [(100 * MIB, 1), (GIB, 1), (1.5 * GIB, 2), (3 * GIB, 4), (5 * GIB, 8)])
def test_mysqltuner_rounds_up_to_powers_of_two(rate: float, wanted: float) -> None:
    """The examples of its own tests, of hr_bytes_practical_rnd()."""
    assert size("MySQLTuner", os_log_written=rate) == wanted


@pytest.mark.parametrize(("cpus", "wanted"), [(1, 0.5), (4, 2), (16, 8), (32, 16), (96, 16)])
def test_a_dedicated_server_goes_by_cpus(cpus: int, wanted: float) -> None:
    assert size("innodb_dedicated_server (8.4 and later)", cpus=cpus) == wanted
    assert size("RDS for MySQL 8.4", cpus=cpus) == wanted


@pytest.mark.parametrize(("memory", "wanted"), [(4, 1), (8, 3), (16, 9), (128, 72), (256, 128)])
def test_an_older_dedicated_server_goes_by_memory(memory: float, wanted: float) -> None:
    """By worklog 12300: pools of 2G, 6G, 12G, 96G and 192G."""
    assert size("innodb_dedicated_server (8.0.14 to 8.3)", memory=memory * GIB) == wanted


def test_others() -> None:
    assert size("25 % of the pool", pool=12 * GIB) == 3
    assert size("PMM's advisor", os_log_written_hours=7 * GIB) == 7
    assert size("an hour of peak redo", holds_an_hour=4 * GIB) == 4


@pytest.mark.parametrize("name", ["MySQLTuner", "PMM's advisor", "RDS for MySQL 8.4"])
def test_what_a_rule_goes_by_may_not_be_known(name: str) -> None:
    assert size(name) is None


def applying(family: str, version: str) -> set[str]:
    return {rule.name for rule in RULES.values() if rule.is_for(family, Version.parse(version))}


def test_each_rule_is_for_the_servers_that_it_speaks_of() -> None:
    assert applying("mariadb", "11.8.3") == {"an hour of peak redo", "25 % of the pool", "PMM's advisor"}
    by_cpus = {"innodb_dedicated_server (8.4 and later)", "RDS for MySQL 8.4"}
    assert by_cpus < applying("mysql", "9.7.4")
    assert not by_cpus & applying("mysql", "8.0.36")
    assert "innodb_dedicated_server (8.0.14 to 8.3)" in applying("mysql", "8.0.36")
    assert {"MySQLTuner (before 8.0.30)"} == {each for each in applying("mysql", "5.7.44") if "Tuner" in each}


def test_the_command_puts_them_beside_the_answer() -> None:
    asked = ("size", "--server", "mysql-9", "--redo-per-hour", "12G", "--pool", "96G", "--rto", "5m")
    done = redolab(*asked, "--compare", "--cpus", "16", "--json")
    assert done.returncode == 0, done.stderr
    found = {each["rule"]: each for each in json.loads(done.stdout)}
    answer = json.loads(redolab(*asked, "--json").stdout)
    assert found["redolab"]["size"] == answer["size"]
    assert found["redolab"]["in_time"] is True
    assert found["an hour of peak redo"]["size"] == answer["advice"]["smallest_for_hour"]
    assert found["25 % of the pool"]["size"] == 24 * GIB
    assert found["25 % of the pool"]["in_time"] is False
    assert found["RDS for MySQL 8.4"]["size"] == 8 * GIB
    assert found["MySQLTuner"]["why_not"]
