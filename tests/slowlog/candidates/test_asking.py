"""Questions to real servers: counts and plans, statements that are refused, statements that are ended."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.connections import Connection

from redolab.errors import Interrupted
from redolab.lab import Lab
from redolab.machine.interrupts import unwinding
from redolab.servers.address import Address
from redolab.servers.dialects import SLOW_LOG, SOCKET
from redolab.servers.instance import Instance
from redolab.slowlog.candidates.counting import countable
from redolab.slowlog.candidates.deciding import CandidateJudgement, Known, Rows, Verdict, judge
from redolab.slowlog.candidates.explain import AskedServer, TimedOut, asked_server
from redolab.slowlog.digest.classes import Example
from tests.command import redolab
from tests.slowlog.candidates.examples import DATABASE, OTHERS, ROWS, SOURCE, counted, running

pytestmark = pytest.mark.server

FOREVER = "SELECT MAX(a.id) FROM sbtest a, sbtest b, sbtest c WHERE a.pad <> b.c AND b.pad <> c.c GROUP BY a.k"
"""A million million rows."""
READ_ONLY_TRANSACTION = 1792
"""Error number of a write in a transaction that may only read."""


@contextmanager
def asked(instance: Instance, at_most: float = 10.0) -> Iterator[AskedServer]:
    with asked_server(lambda answer: instance.connections.connect(10, answer), at_most) as server:
        yield server


def judged(server: AskedServer, text: str, sent: int = 1, examined: int = 1000) -> CandidateJudgement:
    execution = Example(text=text, seconds=1.0, database=DATABASE, rows_sent=sent, rows_examined=examined)
    return judge(execution, server, measure=True)


def fetched(connection: Connection, statement: str) -> tuple[tuple[object, ...], ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return tuple(cursor.fetchall())


def counts_running(connection: Connection) -> list[tuple[object, ...]]:
    """Return the server's sessions that count rows now."""
    return [row for row in fetched(connection, "SHOW FULL PROCESSLIST") if "COUNT(*)" in str(row)]


@pytest.fixture
def instance(lab: Lab, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Instance]:
    """Run the server of the parameter, with the tables of the examples."""
    with running(lab.server(request.param), tmp_path / "i") as started:
        yield started


on: Callable[..., pytest.MarkDecorator] = lambda *names: pytest.mark.parametrize("instance", names, indirect=True)  # noqa: E731


@on("mariadb-10.11", "mysql-5.5")
def test_the_examples_of_the_source_for_real(instance: Instance) -> None:
    with instance.connections.connect() as connection, asked(instance) as server:
        connection.select_db(DATABASE)
        found = {}
        for name, statement in SOURCE.items():
            seen = counted(instance, connection, statement)
            found[name] = judged(server, statement, seen.rows_sent, seen.rows_examined)
        largest = judged(server, OTHERS["const, scan"], 0, ROWS)
        buffered = judged(server, OTHERS["join without an index"], 10, 10)
    assert {name: each.verdict for name, each in found.items()} == {
        "no match, no index": Verdict.CANDIDATE,
        "no match, index": Verdict.PERFECT,
        "const, const": Verdict.PERFECT,
        "ref, eq_ref": Verdict.PERFECT,
        "count, group by": Verdict.PERFECT,
    }
    assert found["count, group by"].rows == Rows(ROWS, Known.MEASURED)
    assert found["ref, eq_ref"].rows == Rows(1, Known.LOG)
    assert (found["ref, eq_ref"].tables, found["ref, eq_ref"].const) == (2, 0)
    # One row is counted for the two of them; beside a scan a const access is not counted.
    assert (found["const, const"].tables, found["const, const"].const) == (1, 2)
    # 100,000 rows are compared for it, and by 5.5 and MariaDB ten are counted.
    assert (buffered.verdict, bool(buffered.note)) == (Verdict.UNKNOWN, True)
    assert (largest.tables, largest.const, largest.examined_per_table) == (1, 1, ROWS)

    # What is written anew counts what was written.
    with instance.connections.connect() as connection:
        connection.select_db(DATABASE)
        for condition in CONDITIONS:
            text = f"SELECT COUNT(*) FROM sbtest WHERE {condition}"
            assert fetched(connection, countable(text).counting) == fetched(connection, text), condition
        for tables in (
            "one, sbtest a LEFT JOIN sbtest b ON b.id = a.k",
            "one JOIN sbtest USING (v) STRAIGHT_JOIN one o",
        ):
            text = f"SELECT COUNT(*) FROM {tables}".replace("USING (v)", "ON v = k")
            assert fetched(connection, countable(text).counting) == fetched(connection, text), tables


CONDITIONS = (
    "NOT k = 0",
    "! k = 1",
    "id % 3 = 1 AND id DIV 7 * 2 > 100",
    "id - (k - 3) > 10 AND id / (4 / 2) < 4000",
    "id ^ 5 * 2 > 100 AND id | 1 & 3 AND (id << 1) + 1 > 7",
    "id BETWEEN 5 AND 10 OR id IN (20, 21) AND NOT id BETWEEN 21 AND 30",
    "(id, k) IN ((5, 2), (6, 1))",
    "c LIKE 'c1!_%' ESCAPE '!' OR c LIKE 'c\\_%' OR c LIKE 'c_'",
    "pad = \"p8\" OR pad = 0x7039 OR pad = _latin1'p10'",
    "k <=> 2 XOR id > 9990",
    "c IS NOT NULL AND (k = 2) IS NOT TRUE AND NULL IS UNKNOWN",
    "IF(id > 3, IFNULL(k, 1), 5) OR CASE k WHEN 2 THEN 1 ELSE 0 END",
    "CONCAT(c, '-', pad) = 'c7-p7' OR LEFT(c, 2) = 'c8' OR SUBSTRING(c FROM 2 FOR 1) = '9'",
    "DATE_ADD('2012-01-31', INTERVAL id DAY) > '2012-12-31' - INTERVAL 1 MONTH",
    "id > DATEDIFF('2015-01-01', '0000-01-01') AND YEAR('2012-01-01') = 2012",
    "DATE_FORMAT(FROM_UNIXTIME(id * 86400), '%Y-%m') = '1980-02'",
    "CAST(pad AS CHAR(2)) = 'p3' OR CONVERT(c USING utf8) = 'c2' OR BINARY pad = 'P1'",
    "MOD(id, 10) = 0 AND LOG(id) > 2 AND LOG(2, id) > 5 AND POW(k, 2) = 0 AND TRUNCATE(id / 3, 1) > 5.5",
    "LOCATE('9', c) OR INSTR(c, '8') > 1 OR POSITION('77' IN pad)",
    "c = 'C1' COLLATE utf8mb4_bin OR LOWER(c) = 'c1' AND TRIM(LEADING 'c' FROM c) = 1",
    "id > 1e3 AND id < 0.5e4 AND -id < -2000 AND id = +3000",
)


@on("mariadb-10.11", "mysql-5.7", "mysql-5.5")
def test_what_takes_too_long_is_ended_and_estimated(instance: Instance) -> None:
    with instance.connections.connect() as connection, asked(instance, 0.4) as server:
        with pytest.raises(TimedOut):
            server.count(countable(FOREVER), DATABASE)
        found = judged(server, FOREVER)
        assert found.rows.known is Known.ESTIMATED
        assert found.rows.count is not None
        assert found.rows.count > ROWS
        assert counts_running(connection) == []
        # By its own limit where it has one, else by KILL QUERY: and the next statement is answered.
        assert judged(server, SOURCE["count, group by"]).rows == Rows(ROWS, Known.MEASURED)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@on("mariadb-10.11", "mysql-9")
def test_an_interrupt_ends_the_count_on_the_server(instance: Instance, number: signal.Signals) -> None:
    with instance.connections.connect() as connection:

        def interrupt() -> None:
            while not counts_running(connection):
                time.sleep(0.05)
            os.kill(os.getpid(), number)

        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(Interrupted), unwinding(), asked(instance, 600) as server:
            server.count(countable(FOREVER), DATABASE)
        deadline = time.monotonic() + 20
        while running_now := counts_running(connection):
            assert time.monotonic() < deadline, running_now
            time.sleep(0.05)


@on("mysql-9")
def test_nothing_of_the_server_is_changed_and_its_slow_log_has_nothing_of_it(instance: Instance) -> None:
    log = instance.folder / SLOW_LOG
    with instance.connections.connect() as connection:
        before = fetched(
            connection, "SHOW GLOBAL VARIABLES WHERE Variable_name NOT LIKE 'gtid%' AND Variable_name <> 'timestamp'"
        )
        fetched(connection, "DO 1")
        fetched(connection, "CREATE USER reader@localhost")
        fetched(connection, f"GRANT SELECT ON {DATABASE}.* TO reader@localhost")
        size = log.stat().st_size
        # Nobody who may do more than read.
        reader = Address(socket=str(instance.folder / SOCKET), user="reader")
        opened: list[Connection] = []

        def as_root(seconds: float) -> Connection:
            opened.append(instance.connections.connect(10, seconds))
            return opened[-1]

        with asked_server(as_root, 10.0), pytest.raises(pymysql.MySQLError) as refused:
            fetched(opened[0], f"INSERT INTO {DATABASE}.one VALUES (2)")
        assert refused.value.args[0] == READ_ONLY_TRANSACTION
        with asked_server(reader.connect, 10.0) as server:
            assert judged(server, SOURCE["count, group by"]).rows.known is Known.MEASURED
            assert judged(server, SOURCE["ref, eq_ref"]).tables == 2
            assert server.note == ""
        logged = log.read_bytes()[size:].decode()
        after = fetched(
            connection, "SHOW GLOBAL VARIABLES WHERE Variable_name NOT LIKE 'gtid%' AND Variable_name <> 'timestamp'"
        )
        fetched(connection, "SET GLOBAL log_queries_not_using_indexes = ON")
        size = log.stat().st_size
        with asked_server(reader.connect, 10.0) as server:
            assert judged(server, SOURCE["count, group by"]).rows.known is Known.MEASURED
            # MySQL 9 does not let everybody stay out of it.
            assert ("sbtest" in log.read_bytes()[size:].decode()) <= bool(server.note)
    assert "sbtest" not in logged
    assert after == before


@on("mariadb-10.11")
def test_what_is_not_there_not_allowed_or_not_a_table_leaves_a_unknown(instance: Instance) -> None:
    with instance.connections.connect() as connection:
        connection.select_db(DATABASE)
        for statement in (
            "CREATE FUNCTION f() RETURNS INT RETURN SLEEP(5)",
            "CREATE VIEW v AS SELECT id, k, f() FROM sbtest",
            "CREATE SEQUENCE s",
            "CREATE USER reader@localhost",
            f"GRANT SELECT ON {DATABASE}.one TO reader@localhost",
        ):
            fetched(connection, statement)
    named = {
        "SELECT COUNT(*) FROM v": "view",
        "SELECT COUNT(*) FROM s": "sequence",
        "SELECT COUNT(*) FROM one": "MyISAM",
        "SELECT COUNT(*) FROM nowhere": "nowhere",
        "SELECT COUNT(*) FROM sbtest WHERE nothing = 1": "nothing",
        "SELECT COUNT(*) FROM sbtest WHERE f() = 1": "f()",
        "SELECT COUNT(*) FROM sbtest WHERE SLEEP(5)": "SLEEP()",
        "SELECT MAX(k) FROM sbtest FOR UPDATE": "Lock",
    }
    with asked(instance) as server:
        for statement, reason in named.items():
            found = judged(server, statement)
            assert (found.verdict, found.rows.known) == (Verdict.UNKNOWN, Known.UNKNOWN)
            assert reason in found.note
        elsewhere = Example(
            text="SELECT COUNT(*) FROM t", seconds=1.0, database="nowhere", rows_sent=1, rows_examined=9
        )
        assert "nowhere" in judge(elsewhere, server, measure=True).note
        nameless = Example(text="SELECT COUNT(*) FROM t", seconds=1.0, rows_sent=1, rows_examined=9)
        assert judge(nameless, server, measure=True).note
    address = {"MYSQL_PWD": ""}
    log = instance.folder / "written.log"
    log.write_text(
        "# Time: 2026-01-01T00:00:00.000000Z\n# User@Host: a[a] @ localhost []  Id: 1\n"
        "# Query_time: 1.000000  Lock_time: 0.000000 Rows_sent: 2  Rows_examined: 10000\n"
        f"use {DATABASE};\nSET timestamp=1767225600;\nSELECT COUNT(*) FROM sbtest GROUP BY k;\n"
    )
    socket = ("--socket", str(instance.folder / SOCKET))
    told: dict[tuple[str, ...], Any] = {}
    for asked_so in (("reader", "--measure"), ("root", "--measure"), ("root",)):
        done = redolab("slowlog", "candidates", str(log), *socket, "--json", "--user", *asked_so, environment=address)
        assert done.returncode == 0, done.stderr
        (only,) = json.loads(done.stdout)["judged"]
        told[asked_so] = only["judgement"]
    # The reader may not see the table.
    assert told["reader", "--measure"]["verdict"] == "unknown"
    assert told["root", "--measure"]["verdict"] == "perfect"
    assert told["root", "--measure"]["rows"]["count"] == ROWS
    assert told["root",]["rows"]["known"] == "estimated"
