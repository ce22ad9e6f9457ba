"""The slow query log without a lock, in real servers."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pymysql
import pytest

from redolab.lab import Lab
from redolab.machine import files
from redolab.project import PROJECT
from redolab.querylogs.digest.digesting import digest
from redolab.querylogs.plugin.building import PLUGIN as PLUGIN_FILE
from redolab.querylogs.plugin.building import built_slow_log_plugin
from redolab.querylogs.plugin.installing import installed
from redolab.querylogs.plugin.packaged import server_audit_plugin
from tests.querylogs.plugin.instances import PLUGIN, built_stress, server_with_plugin, status, until
from tests.querylogs.servers import UsersServer

STATEMENTS = (
    "CREATE TABLE mysql.t (id INT PRIMARY KEY AUTO_INCREMENT, a INT) ENGINE=InnoDB",
    "INSERT INTO mysql.t (a) VALUES (1), (2), (3), (4)",
    "INSERT INTO mysql.t (a) SELECT b.a FROM mysql.t, mysql.t AS b",
    "SELECT * FROM mysql.t WHERE id = 3",
    "SELECT COUNT(*) FROM mysql.t, mysql.t AS b WHERE b.a = 2",
    "UPDATE mysql.t SET a = 7 WHERE a > 2",
    "SELECT 'text with ; and\n# Time: of a log\n' AS `a b`",
    "PREPARE p FROM 'SELECT ? + a FROM mysql.t LIMIT 3'",
    "SET @one = 1",
    "EXECUTE p USING @one",
    "SELECT SLEEP(0.05)",
    "USE information_schema",
    "ANALYZE TABLE mysql.t",
    "SELECT nonsense",
    "DELETE FROM mysql.t",
    "DROP TABLE mysql.t",
    "CREATE PROCEDURE mysql.p() BEGIN SELECT 'within'; SELECT 'within too'; END",
    "CALL mysql.p()",
    "DROP PROCEDURE mysql.p",
)


def _do(server: UsersServer, statements: Sequence[str]) -> None:
    with server.instance.connections.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            # Statements that fail are logged too.
            with suppress(pymysql.MySQLError):
                cursor.execute(statement)


@pytest.mark.parametrize("name", ["mariadb-10.5", "mariadb-10.11", "mariadb-11.8"])
def test_records_are_those_of_the_built_in_log(lab: Lab, name: str, tmp_path: Path) -> None:
    with server_with_plugin(lab, name, tmp_path) as server:
        server.do(f"INSTALL SONAME '{PLUGIN}'", f"SET GLOBAL {PLUGIN}_file = 'plugin.log'")
        server.do("SET GLOBAL slow_query_log = 1")
        _do(server, STATEMENTS)
        server.do("SET GLOBAL slow_query_log = 0")
        server.do(f"SET GLOBAL {PLUGIN}_enabled = 0")
        until(lambda: "slow_query_log = 0;" in (tmp_path / "data/plugin.log").read_text())
    # Up to where each was switched: the same statements in both.
    own, built_in = (digest([tmp_path / "data" / file]) for file in ("plugin.log", "built-in.log"))
    switching = ("set global", "set names", "administrator command", "install")
    mine, theirs = (
        {
            each.fingerprint: (
                each.count,
                each.seconds.total,
                each.lock_seconds and each.lock_seconds.total,
                each.rows_sent and each.rows_sent.total,
                each.rows_examined and each.rows_examined.total,
                each.bytes.total,
            )
            for each in found.classes
            if not each.fingerprint.startswith(switching)
        }
        for found in (own, built_in)
    )
    assert mine == theirs
    assert len(mine) > 10
    assert own.skipped.cut_off == 0
    # And line by line, but for the time and the schema, which the built-in log has only where they change.
    texts = [(tmp_path / "data" / file).read_text() for file in ("plugin.log", "built-in.log")]
    affected = [[line for line in text.splitlines() if line.startswith("# Rows_affected: 16 ")] for text in texts]
    assert affected[0] == affected[1] != []


def test_only_slow_statements_of_a_session_are_logged(lab: Lab, tmp_path: Path) -> None:
    with server_with_plugin(lab, "mariadb-10.11", tmp_path, plugin_load_add=PLUGIN) as server:
        with server.instance.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION long_query_time = 0.04")
            cursor.execute("SELECT 'quick'")
            cursor.execute("SELECT SLEEP(0.05), 'slow'")
            cursor.execute("SET SESSION long_query_time = 0, min_examined_row_limit = 1")
            cursor.execute("SELECT 'none examined'")
            cursor.execute("SELECT Host, 'some examined' FROM mysql.global_priv")
            for wrong in (f"{PLUGIN}_file = '/nowhere/log'", f"{PLUGIN}_file = ''", f"{PLUGIN}_reopen = 2"):
                with pytest.raises(pymysql.MySQLError):
                    cursor.execute(f"SET GLOBAL {wrong}")
        until(lambda: "some examined" in (tmp_path / "data/redolab-slow.log").read_text())
        assert status(server)["dropped"] == 0
    text = (tmp_path / "data/redolab-slow.log").read_text()
    for said, is_there in (("quick", False), ("slow", True), ("none examined", False), ("some examined", True)):
        assert (f"'{said}'" in text) == is_there, said


def _selects(data: Path) -> list[str]:
    """The statements of a rotated log that the test has asked."""
    lines = [line for file in data.glob("*slow.*") for line in file.read_text().splitlines()]
    return [line for line in lines if line.startswith("SELECT ") and line[7].isdigit()]


@pytest.mark.parametrize("buffer", [0, 4096])
def test_rotation_under_load_loses_nothing(lab: Lab, buffer: int, tmp_path: Path) -> None:
    clients, each = 4, 400
    with server_with_plugin(lab, "mariadb-10.11", tmp_path, plugin_load_add=PLUGIN) as server:
        log = tmp_path / "data/redolab-slow.log"
        server.do(f"SET GLOBAL {PLUGIN}_buffer = {buffer}")

        def ask(client: int) -> None:
            with server.instance.connections.connect() as connection, connection.cursor() as cursor:
                for number in range(each):
                    cursor.execute(f"SELECT {client}, {number}")

        threads = [threading.Thread(target=ask, args=(client,)) for client in range(clients)]
        for thread in threads:
            thread.start()
        rotations = 0
        while any(thread.is_alive() for thread in threads):
            log.rename(log.with_name(f"slow.{rotations}"))
            server.do(f"SET GLOBAL {PLUGIN}_reopen = 1")
            rotations += 1
        asked = [f"SELECT {client}, {number};" for client in range(clients) for number in range(each)]
        until(lambda: len(_selects(tmp_path / "data")) >= len(asked))
        counted = status(server)
    assert rotations > 2
    assert sorted(_selects(tmp_path / "data")) == sorted(asked)
    assert (counted["dropped"], counted["write_errors"]) == (0, 0)


def test_a_buffer_is_written_when_it_is_full_and_when_its_connection_ends(lab: Lab, tmp_path: Path) -> None:
    with server_with_plugin(lab, "mariadb-10.11", tmp_path, plugin_load_add=PLUGIN) as server:
        log = tmp_path / "data/redolab-slow.log"
        server.do(f"SET GLOBAL {PLUGIN}_buffer = 100000")
        until(lambda: "_buffer = 100000;" in log.read_text())
        before = log.stat().st_size
        with server.instance.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 'gathered'")
            cursor.execute("SELECT 1")
            assert log.stat().st_size == before
            cursor.execute(f"SELECT 'long', '{'x' * 100000}'")
            until(lambda: log.stat().st_size > before + 100000)
            full = log.stat().st_size
            cursor.execute("SELECT 'at the end'")
            cursor.execute("SELECT 1")
            assert log.stat().st_size == full
        until(lambda: "'at the end'" in log.read_text())
        text = log.read_text()
        assert text.index("'gathered'") < text.index("'long'") < text.index("'at the end'")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_a_full_disk_does_not_hurt_the_server(lab: Lab, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=777", "redolab", small], check=True)
    try:
        with server_with_plugin(lab, "mariadb-10.11", tmp_path, plugin_load_add=PLUGIN) as server:
            server.do(f"SET GLOBAL {PLUGIN}_file = '/instance/small/slow.log'")
            with server.instance.connections.connect() as connection, connection.cursor() as cursor:
                for number in range(400):
                    cursor.execute(f"SELECT {number}, 'full'")
                    assert cursor.fetchone() == (number, "full")
                until(lambda: status(server)["dropped"] > 100)
                counted = status(server)
                assert counted["write_errors"] > 100
                # Room again: what comes now is whole, behind what was cut off.
                os.truncate(small / "slow.log", (small / "slow.log").stat().st_size - 30_000)
                cursor.execute("SELECT 'room again'")
                until(lambda: "'room again'" in (small / "slow.log").read_text())
                assert status(server)["dropped"] == counted["dropped"]
        found = digest([small / "slow.log"])
        assert next(each for each in found.classes if each.example.text == "SELECT 'room again'").count == 1
        assert found.skipped.cut_off <= 1
    finally:
        subprocess.run(["umount", small], check=True)


def test_another_server_refuses_it(lab: Lab, tmp_path: Path) -> None:
    with server_with_plugin(lab, "mariadb-11.8", tmp_path) as server:
        built_for_another = built_slow_log_plugin(lab, lab.server("mariadb-10.11"))
        installed(tmp_path, [built_for_another, server_audit_plugin(lab, lab.server("mariadb-11.8"))])
        with pytest.raises(pymysql.MySQLError, match="REDOLAB_SLOW_LOG"):
            server.do(f"INSTALL SONAME '{PLUGIN}'")
        server.do("SELECT 1")
        # The server's own audit plugin is there too.
        server.do("INSTALL SONAME 'server_audit'")
        server.instance.look(0.2)
    assert "it was built for MariaDB 10.11" in (tmp_path / "error.log").read_text()


def test_it_is_put_where_a_person_wants_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [PROJECT.root / ".venv/bin/redolab", "slowlog", "plugin", "mariadb-10.11", "-o", tmp_path],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert f"{tmp_path / PLUGIN_FILE} is for mariadb-10.11 10.11." in done.stdout
    assert files.names(tmp_path) == [PLUGIN_FILE]
    none = subprocess.run(
        [PROJECT.root / ".venv/bin/redolab", "slowlog", "plugin", "mysql-5.7", "-o", tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (none.returncode, len(none.stderr.splitlines())) == (2, 1)


def test_appending_while_the_file_is_opened_anew() -> None:
    make = [
        "make",
        "--silent",
        f"--directory={PROJECT.slow_log_plugin}",
        f"BUILD={built_stress()}",
        "SECONDS=1",
        "test",
    ]
    done = subprocess.run(make, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = {line.partition(":")[0]: line for line in done.stdout.splitlines() if " records in " in line}
    assert "lost 0, torn 0, twice 0, in a foreign file 0" in said["kept"]
    assert "lost 0, torn 0, twice 0, in a foreign file 0" in said["gathered"]
    for wrong in ("close-then-open", "count-then-swap"):
        assert "lost 0, torn 0, twice 0, in a foreign file 0" not in said[wrong]
