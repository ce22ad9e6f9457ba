"""Makes the slow query logs under tests/logs/slow anew: a mixed set of statements on servers of the catalogue.

    .venv/bin/python -m tests.logs.make_slow [SERVER…]

Beside each, NAME.pt.json, is what pt-query-digest says of it (`tests.slowlog.digest.pt_query_digest`), if it is installed.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pymysql
from pymysql.connections import Connection
from rich.console import Console

from redolab.lab import Lab, native_folder, open_lab
from redolab.progress import Progress
from redolab.runs.store import RunStore
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import InstanceRequest, Purpose, Setting
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance
from redolab.units import MIB

SLOW = Path(__file__).parent / "slow"
_SEED = 7
_ROUNDS = 4
_EXTRA = {
    "mariadb": "SET GLOBAL log_slow_verbosity = 'query_plan,explain,innodb'",
    "mysql": "SET GLOBAL log_slow_extra = ON",
}
# Said by the protocol: after `use shop` as a statement pt-query-digest loses a record or more.
_SELECT = "\\u"
_ONCE = (
    "CREATE DATABASE shop CHARACTER SET utf8",
    "CREATE DATABASE other CHARACTER SET utf8",
    f"{_SELECT} shop",
    "CREATE TABLE person (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(100), born DATE, note TEXT, done BOOL, KEY (name))",
    "CREATE TABLE sold_2024 (id INT PRIMARY KEY, person INT, price DECIMAL(9,2), KEY (person))",
    "CREATE PROCEDURE visit(IN which INT)\nBEGIN\n  -- it's one of many;\n  SELECT name FROM person WHERE id = which;\n"
    "  UPDATE person SET done = TRUE WHERE id = which;\nEND",
    "SET @which = 3",
    "PREPARE named FROM 'SELECT id FROM person WHERE name = ?'",
)


def _statements(r: random.Random) -> Iterator[str]:
    n, m = r.randint(1, 900), r.randint(1, 40)
    numbers = ", ".join(str(r.randint(1, 99)) for _ in range(r.randint(1, 9)))
    yield f"INSERT INTO person (name, born, note, done) VALUES('O\\'Neill {n}', '1990-01-{m % 28 + 1:02d}', 'a \\\"b\\\" \\\\', true)"
    rows = ", ".join(f"('n{i}', NULL, 'x;y', {i % 2})" for i in range(m % 4 + 1))
    yield f"insert into person(name,born,note,done) values {rows}"
    yield f"INSERT IGNORE INTO sold_2024 VALUES ({n}, {m}, {m}.{n}),({n + 1000},{m},-{m})"
    yield f"SELECT * FROM person WHERE name = 'Žofie 漢字 {n}'"
    yield f"SELECT  id, name\n  FROM person\n WHERE id IN ({numbers})\n ORDER BY name ASC, id DESC\n LIMIT {m}, {n}"
    yield f"SELECT /* app:web,id:{n} */ COUNT(*) FROM sold_2024 WHERE price > {m}.5 -- it is cheap\n AND person <> {n}"
    yield f"SELECT id FROM person WHERE born = \"2000-01-01\" OR name LIKE '%{n}''s' OR note IS NULL"
    yield f"SELECT 1 FROM person WHERE id = {n} UNION ALL SELECT 1 FROM person WHERE id = {m}"
    yield f"UPDATE person SET note = CONCAT('0x{n:X}', 0x{n:x}, x'4D79'), done = false WHERE id = {n} LIMIT 1"
    yield f"DELETE FROM sold_2024 WHERE id BETWEEN {n} AND {n + 1}"
    yield f"CALL visit({n})"
    yield "EXECUTE named USING @which"
    yield f"REPLACE INTO shop.sold_2024 SET id={n}, person={m}, price=1e{m % 5}"
    yield f"{_SELECT} {'other' if m % 2 else 'shop'}"
    yield f"SELECT COUNT(*) FROM shop.person WHERE id + {n} > -{m}"
    yield f"{_SELECT} shop"
    yield "BEGIN"
    yield "COMMIT"
    yield f"SELECT * FROM no_such_table_{m}"
    yield f"SELECT SLEEP(0.00{m % 9 + 1})"
    yield "SHOW TABLES LIKE 'per%'"
    yield f"SET @a := '{n}'"


def main(wanted: list[str]) -> None:
    """Make these servers' logs, or all."""
    from tests.slowlog.digest.pt_query_digest import write_classes

    SLOW.mkdir(exist_ok=True)
    with open_lab(Progress(Console()), RunStore().clear_unfinished) as lab:
        for name in server_catalogue().names():
            if not wanted or name in wanted:
                _make(lab, native_folder(lab.folder), lab.server(name))
    for log in sorted(SLOW.glob("*.log")):
        if not wanted or log.stem in wanted:
            write_classes(log)


def _make(lab: Lab, home: Path, server: InstalledServer) -> None:
    folder = home / "instances" / f"slow-{server.name}"
    request = InstanceRequest(
        purpose=Purpose.MEASURE,
        log_size=64 * MIB,
        buffer_pool=128 * MIB,
        slow_log=True,
        overrides=(Setting("log_slow_admin_statements", "1", "as users have it"),) if _has_admin(server) else (),
    )
    with lab.journal.making(folder, f"an instance of {server.name} for its slow query log"):
        initialise(server, folder, request)
        error_log = SLOW / f"{server.name}.error"
        with lab.progress.stage(f"{server.name}"), Instance.start(server, folder, request, error_log) as instance:
            instance.wait_ready(60)
            with instance.connections.connect() as connection:
                _run(connection, server.name.split("-")[0])
            # Another second, and another header in the middle of the file.
            time.sleep(1.1)
            with instance.connections.connect() as connection:
                _execute(connection, "FLUSH LOGS")
                connection.ping()
                for statement in (f"{_SELECT} shop", "SELECT COUNT(*) FROM person", "SELECT COUNT(*) FROM person"):
                    _execute(connection, statement)
            instance.shut_down()
            written = (folder / "slow.log").read_bytes()
        # Where it was is nobody's business.
        (SLOW / f"{server.name}.log").write_bytes(
            re.sub(rb"(?m)^\S*/(?=(?:mysqld|mariadbd), Version)", b"/usr/sbin/", written)
        )
        for left in SLOW.glob(f"{server.name}.error*"):
            left.unlink()


def _has_admin(server: InstalledServer) -> bool:
    return server.name.startswith("mysql-5.7")


def _run(connection: Connection[pymysql.cursors.Cursor], family: str) -> None:
    r = random.Random(_SEED)
    for statement in _ONCE:
        _execute(connection, statement)
    for round_ in range(_ROUNDS):
        if round_ == _ROUNDS // 2:
            _execute(connection, _EXTRA[family])
        for statement in _statements(r):
            _execute(connection, statement)
        connection.ping(reconnect=False)
        connection.select_db("shop")


def _execute(connection: Connection[pymysql.cursors.Cursor], statement: str) -> None:
    try:
        if statement.startswith(_SELECT):
            connection.select_db(statement.split()[1])
            return
        with connection.cursor() as cursor:
            cursor.execute(statement)
            while cursor.nextset():
                pass
    except pymysql.MySQLError:
        # A table that is not there, a setting that the version does not have: they are logged too.
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
