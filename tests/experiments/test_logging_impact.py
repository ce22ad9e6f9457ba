"""The experiment logging-impact: two logs on a real server, and the report of committed runs."""

from __future__ import annotations

from collections.abc import Iterator

import polars
import pytest

from experiments.logging_impact.experiment import LoggingImpact
from experiments.logging_impact.logs import LOGS, off
from experiments.logging_impact.report import report
from redolab.project import PROJECT
from redolab.report.table import SCREEN
from redolab.runs.factors import read_factors
from redolab.runs.schema import RunState
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue
from redolab.servers.sandbox import INSTANCE
from redolab.units import GIB
from tests.command import nothing_is_left, run_of

pytestmark = pytest.mark.server

SMALL = [
    "logging-impact", "--server", "mariadb-10.11", "--logs", "all,table", "--connections", "2",
    "--warehouses", "1", "--log-size", "64M", "--pool", "256M", "--seconds", "5s", "--settling", "1s", "--warm-up", "1s",
    "--repeat", "1", "--seed", "5",
]  # fmt: skip
COMMITTED = PROJECT.measured / "logging-impact"


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with run_of(*SMALL) as made:
        yield made


def test_what_is_logged_is_counted_where_the_log_writes(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    by_log = {each.step.log: each.trial for each in LoggingImpact.results(run)}
    assert set(by_log) == {"none", "all", "table"}
    assert by_log["none"].logged_bytes is by_log["none"].logged_lines is None
    table, file = by_log["table"], by_log["all"]
    assert table.logged_lines is not None
    # Every statement is a row; some were on their way when one was counted and not the other.
    assert 0.9 < table.logged_lines / table.statements < 1.1
    assert file.logged_lines is not None
    assert file.logged_lines > 3 * file.statements
    assert (file.logged_bytes or 0) > 100 * file.statements
    assert all(each.new_orders_per_minute > 0 for each in by_log.values())
    assert set(polars.read_parquet(run.folder / "table.parquet")["log"]) == set(by_log)
    assert (run.folder / "plots/costs.svg").stat().st_size > 5000
    assert nothing_is_left()


def test_a_report_compares_with_no_log_and_with_what_was_published() -> None:
    run = Run(COMMITTED / "20261126-055041-logging-impact")
    made = report(run)
    assert len(made.answer.split()) <= 30
    (table,) = made.tables
    assert table.width <= SCREEN
    logged = [cells for cells in table.cells if "all" in cells]
    assert len(logged) == 2
    # As many clients, and tables that fit the pool.
    assert all("-20%" in cells for cells in logged)
    assert len(LoggingImpact.rows(run)) == 68


def test_logs_that_take_other_settings_at_a_start_have_an_instance_of_their_own() -> None:
    factors = read_factors(LoggingImpact.factors_type, {"server": "mysql-9,mysql-5.5", "connections": "1,2"})
    cells = {
        (each.server, each.connections, each.started_for): steps for each, steps in LoggingImpact.cells(factors).items()
    }
    assert [step.log for step in cells["mysql-9", 2, "digests"]] == ["digests"]
    assert [step.log for step in cells["mysql-5.5", 1, "all-to-null"]] == ["all-to-null"]
    assert [step.log for step in cells["mysql-9", 1, "none"]][:3] == ["none", "over-1s", "all"]
    assert {name for name, _, _ in cells} == {"mysql-9", "mysql-5.5"}
    assert all(GIB < each.pool_bytes < 2 * GIB for each in LoggingImpact.cells(factors))


def test_a_server_is_asked_only_for_logs_that_it_has() -> None:
    mysql_9, mysql_5, mariadb = (
        server_catalogue().get(name).dialect() for name in ("mysql-9", "mysql-5.5", "mariadb-11.8")
    )
    assert LOGS["plugin"].why_not(mysql_9) == "a plugin of MariaDB"
    assert LOGS["digests"].why_not(mysql_5)
    assert LOGS["all-to-null"].why_not(mysql_5) is None
    assert all(log.why_not(mariadb) is None for log in LOGS.values())


@pytest.mark.parametrize("name", ["mysql-5.5", "mariadb-10.2"])
def test_what_is_turned_on_is_turned_off(name: str) -> None:
    dialect = server_catalogue().get(name).dialect()
    turned_off = {statement.split(" = ")[0] for statement in off(dialect)}
    had = [log for log in LOGS.values() if log.why_not(dialect) is None]
    turned_on = {statement.split(" = ")[0] for log in had for statement in log.turned_on(dialect, INSTANCE)}
    of_the_next = {f"SET GLOBAL {log}_file" for log in ("slow_query_log", "general_log")}
    of_plugins = {each for each in turned_on if "server_audit" in each or "redolab_slow_log" in each}
    assert turned_on - of_the_next - of_plugins <= turned_off
