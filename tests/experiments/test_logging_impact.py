"""What logging costs: three logs on a real server, and effects of loads whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from experiments.logging_impact.effects import Compared, MeasuredLog, effects, measured_in
from experiments.logging_impact.factors import Factors
from experiments.logging_impact.logs import LOGS, NONE, off
from experiments.logging_impact.planned import LoggingConditions
from experiments.logging_impact.published import published_ratios
from experiments.logging_impact.report import costs_table
from experiments.logging_impact.trial import LoggingCell, LoggingTrial
from redolab.runs.schema import RunState
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue
from redolab.units import GIB
from tests.command import nothing_is_left, run_of

SMALL = [
    "logging-impact", "--server", "mariadb-10.11", "--logs", "all,table,digests", "--connections", "2",
    "--warehouses", "1", "--log-size", "64M", "--pool", "256M", "--seconds", "5s", "--settling", "1s", "--warm-up", "1s",
    "--repeat", "1", "--seed", "5",
]  # fmt: skip
CELL = LoggingCell(server="mariadb-10.11", connections=20, pool=2 * GIB)
CONDITIONS = LoggingConditions(warehouses=10, log_size=GIB, seconds=30, settling=4, warm_up=20)
KEY = Compared("local", "10.11.19", CELL, CONDITIONS)


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with run_of(*SMALL) as made:
        yield made


def test_what_is_logged_is_counted_where_the_log_writes(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    by_log = {each.trial.log: each.trial for each in measured_in([run])}
    assert set(by_log) == {"none", "all", "table", "digests"}
    assert by_log["none"].logged_bytes is by_log["none"].logged_lines is None
    table, file = by_log["table"], by_log["all"]
    assert table.logged_lines is not None
    # Every statement is a row; some were on their way when one was counted and not the other.
    assert 0.9 < table.logged_lines / table.statements < 1.1
    assert file.logged_lines is not None
    assert file.logged_lines > 3 * file.statements
    assert (file.logged_bytes or 0) > 100 * file.statements
    assert by_log["digests"].logged_lines
    assert all(each.new_orders_per_minute > 0 for each in by_log.values())
    assert nothing_is_left()


def test_effects_are_against_no_log_in_the_same_block() -> None:
    """The second block is twice as fast: a machine's drift passes for no effect."""
    measured = [
        MeasuredLog(KEY, f"run {block}", trial(log, speed * share))
        for block, speed in ((1, 1000), (2, 2000), (3, 1100))
        for log, share in ((NONE, 1.0), ("all", 0.8 + 0.01 * block), ("table", 0.5), ("general", 0.95 + 0.03 * block))
    ]
    found = {each.log: each for each in effects(measured)}
    assert found["all"].throughput is not None
    assert found["all"].throughput.change == pytest.approx(-0.18, abs=0.005)
    assert found["all"].throughput.low < -0.18 < found["all"].throughput.high < -0.1
    assert found[NONE].throughput is None
    assert found["all"].logged_bytes == 1e6
    assert found["all"].processor_us == pytest.approx(100)
    row = next(cells for cells in costs_table(list(found.values())).cells if "all" in cells)
    # 0.80 is the published point of as many clients.
    assert "0.80" in row


def test_cells_of_other_pools_are_not_pooled() -> None:
    small = Compared(
        "local", "10.11.19", LoggingCell(server="mariadb-10.11", connections=20, pool=GIB // 4), CONDITIONS
    )
    measured = [
        MeasuredLog(key, "run 1", trial(log, speed))
        for key, speed in ((KEY, 1000), (small, 100))
        for log in (NONE, "all")
    ]
    assert [(each.key, each.rate) for each in effects(measured)] == [
        (KEY, 1000), (KEY, 1000), (small, 100), (small, 100),
    ]  # fmt: skip


def test_published_ratios_are_those_of_the_source() -> None:
    cpu_bound = {
        each.connections: round(each.ratio, 2) for each in published_ratios() if each.fits_pool and each.log == "all"
    }
    assert cpu_bound == {1: 0.88, 20: 0.80, 100: 0.94}


def test_a_server_is_asked_only_for_logs_that_it_has() -> None:
    assert Factors.why_not("mysql-9", "plugin") == "a plugin of MariaDB"
    assert Factors.why_not("mysql-5.5", "digests")
    assert Factors.why_not("mysql-5.5", "all-to-null") is None
    assert all(Factors.why_not("mariadb-11.8", log) is None for log in LOGS)


@pytest.mark.parametrize("name", ["mysql-5.5", "mariadb-10.2"])
def test_what_is_turned_on_is_turned_off(name: str) -> None:
    dialect = server_catalogue().get(name).dialect()
    turned_off = {statement.split(" = ")[0] for statement in off(dialect)}
    had = [log for log in LOGS.values() if log.why_not(dialect) is None]
    turned_on = {statement.split(" = ")[0] for log in had for statement in log.statements(dialect)}
    of_the_next = {f"SET GLOBAL {log}_file" for log in ("slow_query_log", "general_log")}
    of_plugins = {each for each in turned_on if "server_audit" in each or "redolab_slow_log" in each}
    assert turned_on - of_the_next - of_plugins <= turned_off


def trial(log: str, rate: float) -> LoggingTrial:
    return LoggingTrial(
        cell=CELL,
        version="10.11.19",
        log=log,
        seconds=30,
        new_orders_per_minute=rate,
        latency_99_ms=20,
        failed=0,
        statements=100_000,
        logged_bytes=None if log == NONE else 30_000_000,
        logged_lines=None if log == NONE else 600_000,
        server_seconds=10,
        instance="",
    )
