"""Rates of rollback: by server and storage, each crash once, and how far they are off for what they have not seen."""

from __future__ import annotations

import math

import pytest

from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.rollback import (
    Rollback,
    rollback_rates,
    rollback_spreads,
    slowest_of_family,
)

FAMILIES = {"mysql-9": "mysql", "mysql-8.0": "mysql", "mariadb-11.8": "mariadb"}


def _rollback(server: str, storage: str, crash: str, rate: float, rows: int = 100_000) -> Rollback:
    return Rollback(
        server=server,
        family=FAMILIES[server],
        storage=storage,
        crash_name=crash,
        rows=rows,
        seconds=rows / rate,
    )


def test_a_rate_is_of_the_storage_and_each_crash_counts_once() -> None:
    often = [_rollback("mysql-9", "local", "often", 100_000) for _ in range(9)]
    found = rollback_rates(
        [
            *often,
            _rollback("mysql-9", "local", "large", 300_000, rows=1_000_000),
            _rollback("mysql-9", "local", "once", 200_000),
            _rollback("mysql-9", "hdd", "slow", 4_000),
        ]
    )
    assert found["mysql-9"]["local"].rows_per_s == pytest.approx(200_000)
    assert found["mysql-9"]["local"].most_rows == 1_000_000
    assert found["mysql-9"]["hdd"].rows_per_s == pytest.approx(4_000)


def test_who_was_not_measured_there_takes_the_slowest_of_its_family() -> None:
    rates = rollback_rates(
        [
            _rollback("mysql-9", "hdd", "a", 8_000),
            _rollback("mysql-8.0", "local", "b", 90_000),
            _rollback("mariadb-11.8", "hdd", "c", 1_000),
        ]
    )
    found = slowest_of_family(rates, FAMILIES, "mysql-8.0", "hdd")
    assert found is not None
    assert found.rows_per_s == pytest.approx(8_000)
    assert slowest_of_family(rates, FAMILIES, "mysql-8.0", "nvme") is None
    assert slowest_of_family(rates, FAMILIES, "mariadb-11.8", "hdd") is None


def test_errors_are_of_crashes_servers_and_machines_that_were_not_seen() -> None:
    seen = [
        _rollback("mysql-9", "local", "a", 100_000),
        _rollback("mysql-9", "local", "b", 200_000),
        _rollback("mysql-8.0", "local", "c", 50_000),
    ]
    slower = _rollback("mysql-9", "local", "d", 75_000)
    found = rollback_spreads(
        seen,
        [
            ("another", HeldOut.MACHINE, slower),
            ("another", HeldOut.LIMITED, _rollback("mysql-9", "hdd", "e", 1.0)),
        ],
    )
    assert set(found) == {HeldOut.CRASH, HeldOut.SERVER, HeldOut.MACHINE}
    assert found[HeldOut.CRASH].deviation == pytest.approx(math.log(2))
    assert found[HeldOut.CRASH].count == 2
    assert found[HeldOut.SERVER].count == 2
    # mysql-8.0 is twice to four times as slow as mysql-9, which is taken for it; the other way round nothing is later.
    assert found[HeldOut.SERVER].scale_above == pytest.approx(math.log(3) / math.sqrt(2))
    assert found[HeldOut.SERVER].scale_below > found[HeldOut.SERVER].scale_above
    assert found[HeldOut.MACHINE].deviation == pytest.approx(math.log(2))
    assert found[HeldOut.MACHINE].count == 1
    assert rollback_spreads([]) == {}


def test_of_a_machine_that_was_learned_from_too_its_own_rollbacks_are_left_out() -> None:
    here = [_rollback("mysql-9", "local", "a", 100_000), _rollback("mysql-9", "local", "b", 100_000)]
    there = [_rollback("mysql-9", "local", name, 25_000) for name in "cdefg"]
    found = rollback_spreads(
        [*here, *there],
        [("third", HeldOut.MACHINE, each) for each in there],
    )
    assert found[HeldOut.MACHINE].deviation == pytest.approx(math.log(4))
