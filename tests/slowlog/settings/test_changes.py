"""Variables to change and to put back, by the names of each family of servers."""

from __future__ import annotations

import pytest

from redolab.errors import InvalidInput
from redolab.slowlog.settings.changes import (
    Change,
    changes_to_be_quiet,
    changes_to_log_all,
    left_behind,
    same_value,
    statement,
    undoing,
)
from redolab.slowlog.settings.event import event_statement
from redolab.slowlog.settings.user_server import missing_privileges

MYSQL_5_5 = {
    "slow_query_log": "OFF",
    "slow_query_log_file": "/data/db-slow.log",
    "log_slow_queries": "OFF",
    "long_query_time": "10.000000",
    "min_examined_row_limit": "0",
    "log_output": "FILE",
    "general_log": "OFF",
}
MARIADB = {
    **MYSQL_5_5,
    "log_slow_query": "OFF",
    "log_slow_query_file": "/data/db-slow.log",
    "log_slow_query_time": "10.000000",
    "log_slow_min_examined_row_limit": "0",
    "log_slow_filter": "admin,filesort",
    "log_slow_disabled_statements": "sp",
    "log_slow_admin_statements": "ON",
    "log_slow_slave_statements": "ON",
    "log_slow_rate_limit": "100",
    "log_slow_verbosity": "",
}
PERCONA = {
    **MYSQL_5_5,
    "log_slow_filter": "",
    "log_slow_rate_limit": "1",
    "log_slow_rate_type": "session",
    "log_slow_verbosity": "standard",
    "log_slow_sp_statements": "ON",
    "slow_query_log_use_global_control": "",
}


def made(variables: dict[str, str]) -> list[tuple[str, str]]:
    return [(change.name, change.during) for change in changes_to_log_all(variables, "/data/new")]


def test_bits_of_another_variable_are_left_to_that() -> None:
    off = {**MARIADB, "log_slow_disabled_statements": "admin,sp", "log_slow_admin_statements": "OFF"}
    assert "log_slow_admin_statements" not in dict(made(off))
    older = {name: value for name, value in off.items() if name != "log_slow_disabled_statements"}
    assert dict(made(older))["log_slow_admin_statements"] == "ON"


def test_what_another_command_has_set_is_seen() -> None:
    assert left_behind(MYSQL_5_5) == ""
    assert left_behind({**MYSQL_5_5, "slow_query_log_file": "/d/slow.log-full-20261124201607"})
    assert left_behind({**MYSQL_5_5, "long_query_time": "2000.000471"}) == "long_query_time = 2000.000471"
    # A DBA's own value.
    assert left_behind({**MYSQL_5_5, "long_query_time": "2000.000000"}) == ""


def test_the_file_comes_first_so_that_the_file_in_use_gets_nothing_of_it() -> None:
    assert made(MYSQL_5_5) == [
        ("slow_query_log_file", "/data/new"),
        ("slow_query_log", "ON"),
        ("long_query_time", "0"),
    ]


def test_each_setting_once_however_many_names_it_has() -> None:
    assert made(MARIADB) == [
        ("slow_query_log_file", "/data/new"),
        ("log_slow_filter", ""),
        ("log_slow_disabled_statements", ""),
        ("log_slow_rate_limit", "1"),
        ("log_slow_verbosity", "query_plan,innodb"),
        ("slow_query_log", "ON"),
        ("long_query_time", "0"),
    ]
    both = {**MYSQL_5_5, "log_slow_replica_statements": "OFF", "log_slow_slave_statements": "OFF"}
    assert dict(made(both))["log_slow_replica_statements"] == "ON"
    assert "log_slow_slave_statements" not in dict(made(both))


def test_connections_that_are_there_are_reached_where_the_server_can() -> None:
    assert dict(made(PERCONA))["slow_query_log_use_global_control"].split(",")[3] == "long_query_time"


@pytest.mark.parametrize("output", ["TABLE", "NONE", "TABLE,FILE"])
def test_the_log_goes_to_the_file_alone_and_the_general_log_stays_where_it_is(output: str) -> None:
    assert dict(made({**MYSQL_5_5, "log_output": output}))["log_output"] == "FILE"
    with pytest.raises(InvalidInput):
        made({**MYSQL_5_5, "log_output": output, "general_log": "ON"})
    assert "log_output" not in dict(made({**MYSQL_5_5, "general_log": "ON"}))


def test_quiet_only_where_something_is_logged() -> None:
    assert changes_to_be_quiet(MYSQL_5_5) == []
    on = {**MYSQL_5_5, "slow_query_log": "ON"}
    assert changes_to_be_quiet(on) == [
        Change("long_query_time", "10.000000", "2000.000471"),
        Change("log_output", "FILE", "NONE"),
    ]
    # The general log goes where log_output says, too.
    assert changes_to_be_quiet({**on, "general_log": "ON"}) == [Change("long_query_time", "10.000000", "2000.000471")]
    assert changes_to_be_quiet({**on, "long_query_time": "5000"}) == [Change("log_output", "FILE", "NONE")]


def test_what_somebody_else_has_changed_is_left() -> None:
    changes = [Change("slow_query_log_file", "/old", "/new"), Change("long_query_time", "10.000000", "0")]
    now = {"slow_query_log_file": "/new", "long_query_time": "2.000000"}
    todo = undoing(changes, now)
    assert todo.undo == [changes[0]]
    assert todo.left == [(changes[1], "2.000000")]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("10", "10.000000", True), ("ON", "1", True), ("a,b", "b, A", True), ("", "a", False), ("0.5", "0.50", True), ("OFF", "ON", False)],
)  # fmt: skip
def test_values_are_compared_as_the_server_does(one: str, other: str, same: bool) -> None:
    assert same_value(one, other) is same


def test_a_value_cannot_be_more_than_a_value() -> None:
    assert statement("slow_query_log_file", "/a'b\\c") == r"SET GLOBAL slow_query_log_file = '/a''b\\c'"
    assert statement("long_query_time", "0.500000") == "SET GLOBAL long_query_time = 0.500000"


def test_the_event_changes_only_what_is_still_ours() -> None:
    made = event_statement(
        "mysql.e", [Change("slow_query_log", "OFF", "ON"), Change("long_query_time", "10", "0")], 65.0
    )
    assert "INTERVAL 65 SECOND" in made
    assert "IF @@GLOBAL.long_query_time = 0 THEN SET GLOBAL long_query_time = 10; END IF;" in made
    of_a_set = event_statement("mysql.e", [Change("log_output", "TABLE", "FILE,TABLE")], 65.0)
    assert "IF FIND_IN_SET('FILE', @@GLOBAL.log_output) AND FIND_IN_SET('TABLE', @@GLOBAL.log_output) AND " in of_a_set
    assert "IF @@GLOBAL.slow_query_log = 1 THEN SET GLOBAL slow_query_log = 'OFF'; END IF;" in made


@pytest.mark.parametrize(
    ("grants", "missing"),
    [
        (["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"], []),
        (["GRANT SUPER, RELOAD, PROCESS ON *.* TO 'a'@'%'"], []),
        (["GRANT RELOAD, PROCESS ON *.* TO `a`@`%`", "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO `a`@`%`"], []),
        (["GRANT SELECT ON *.* TO 'a'@'%'"], ["SUPER or SYSTEM_VARIABLES_ADMIN", "RELOAD", "PROCESS"]),
        (["GRANT SUPER, PROCESS ON *.* TO 'a'@'%'", "GRANT ALL PRIVILEGES ON `app`.* TO 'a'@'%'"], ["RELOAD"]),
    ],
)
def test_what_an_account_lacks_is_named(grants: list[str], missing: list[str]) -> None:
    assert missing_privileges(grants) == missing
