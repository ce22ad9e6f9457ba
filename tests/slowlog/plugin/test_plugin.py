"""The slow query log without a lock, in real servers."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest
from rich.console import Console

from redolab.errors import InvalidInput
from redolab.lab import Lab, open_lab
from redolab.machine import files
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.runs.store import RunStore
from redolab.servers.dialects import Version, dialect_of
from redolab.servers.install import InstalledServer
from redolab.servers.packaged import server_audit_plugin
from redolab.slowlog.digest.digesting import digest
from redolab.slowlog.plugin.plugin_build import PLUGIN as PLUGIN_FILE
from redolab.slowlog.plugin.plugin_build import built_slow_log_plugin, install_plugins
from tests.slowlog.plugin.instances import (
    PLUGIN,
    buildable,
    built_stress,
    in_catalogue,
    server_with_plugin,
    status,
    until,
)
from tests.slowlog.servers import UsersServer, users_server
from tests.thorough import mostly_thorough

# The first that takes the plugin builds it, for which the source of the server is fetched.
pytestmark = [pytest.mark.alone, pytest.mark.timeout(3600), pytest.mark.server]

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
    "SELECT SLEEP(1.1)",
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


@pytest.mark.parametrize("name", mostly_thorough(["mariadb-10.11", "mariadb-11.8"], ["mariadb-10.11"]))
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
    stamps = [re.findall(r"SET timestamp=(\d+);\nSELECT SLEEP\(1\.1\);", text) for text in texts]
    assert len(stamps[0]) == 1
    assert stamps[0] == stamps[1]


def test_what_the_server_leaves_out_is_left_out(lab: Lab, tmp_path: Path) -> None:
    with server_with_plugin(lab, "mariadb-10.11", tmp_path) as server:
        server.do(f"INSTALL SONAME '{PLUGIN}'", f"SET GLOBAL {PLUGIN}_file = 'plugin.log'")
        server.do("CREATE TABLE mysql.t (id INT PRIMARY KEY, a INT) ENGINE=InnoDB", "INSERT INTO mysql.t VALUES (1, 1)")
        server.do("CREATE PROCEDURE mysql.p() SELECT 'within'")
        # 'sp' off: statements of a procedure are logged too.
        server.do("SET GLOBAL slow_query_log = 1", "SET GLOBAL log_slow_disabled_statements = ''")
        statements = (
            "SET SESSION log_slow_filter = 'full_scan,admin'",
            "SELECT 'by its key' FROM mysql.t WHERE id = 1",
            "SELECT 'a full scan' FROM mysql.t",
            "ANALYZE TABLE mysql.t",
            "SET SESSION log_slow_filter = 'not_using_index', long_query_time = 100",
            "SELECT 'without an index' FROM mysql.t",
            "SELECT 'quick'",
            "SET SESSION log_slow_filter = '', long_query_time = 0, log_slow_disabled_statements = 'admin'",
            "ANALYZE TABLE mysql.t",
            "SET SESSION log_slow_disabled_statements = ''",
            "CALL mysql.p()",
            "SELECT 'last'",
        )
        _do(server, statements)
        until(lambda: "'last'" in (tmp_path / "data/plugin.log").read_text())
        until(lambda: "'last'" in (tmp_path / "data/built-in.log").read_text())
    texts = [(tmp_path / "data" / file).read_text() for file in ("plugin.log", "built-in.log")]
    logged = [
        [line for line in text.splitlines() if line.rstrip(";") in statements or "within" in line] for text in texts
    ]
    assert logged[0][-len(logged[1]) :] == logged[1]
    for said, times in (("by its key", 0), ("a full scan", 1), ("ANALYZE", 1), ("without an index", 1), ("quick", 0)):
        assert sum(said in line for line in logged[1]) == times, said
    assert sum("'within'" in line and "CREATE" not in line for line in logged[0]) == 1


def test_a_failed_statement_changes_nothing_and_default_is_the_default(lab: Lab, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with server_with_plugin(lab, "mariadb-10.11", tmp_path, plugin_load_add=PLUGIN) as server:
        with pytest.raises(pymysql.MySQLError):
            server.do(f"SET GLOBAL {PLUGIN}_file = 'other.log', GLOBAL long_query_time = 'nonsense'")
        assert server.variables()[f"{PLUGIN}_file"] == "redolab-slow.log"
        assert not (data / "other.log").exists()
        server.do(f"SET GLOBAL {PLUGIN}_file = 'other.log'", "SELECT 'in the other'")
        until(lambda: "in the other" in (data / "other.log").read_text())
        server.do(f"SET GLOBAL {PLUGIN}_file = DEFAULT", "SELECT 'in the usual'")
        until(lambda: "in the usual" in (data / "redolab-slow.log").read_text())
        assert server.variables()[f"{PLUGIN}_file"] == "redolab-slow.log"
        # What is opened anew is what is shown.
        (data / "redolab-slow.log").rename(data / "rotated.log")
        server.do(f"SET GLOBAL {PLUGIN}_reopen = 1", "SELECT 'after the rotation'")
        until(lambda: "after the rotation" in (data / "redolab-slow.log").read_text())
        server.do(f"SET GLOBAL {PLUGIN}_enabled = DEFAULT, GLOBAL {PLUGIN}_buffer = DEFAULT")
        # A file that cannot be opened only then is an error too, and the log goes on.
        (data / "redolab-slow.log").rename(data / "rotated.log")
        (data / "redolab-slow.log").mkdir()
        with pytest.raises(pymysql.MySQLError) as raised:
            server.do(f"SET GLOBAL {PLUGIN}_reopen = 1")
        assert "redolab-slow.log" in raised.value.args[1]
        server.do("SELECT 'goes on'")
        until(lambda: "goes on" in (data / "rotated.log").read_text())


def test_a_stalled_disk_holds_up_no_connection(lab: Lab, tmp_path: Path) -> None:
    with server_with_plugin(lab, "mariadb-10.11", tmp_path, plugin_load_add=PLUGIN) as server:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        pipe.chmod(0o666)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            server.do(f"SET GLOBAL {PLUGIN}_file = '/instance/pipe'", f"SET GLOBAL {PLUGIN}_buffer = 16777216")
            with server.instance.connections.connect() as gathering, gathering.cursor() as cursor:
                cursor.execute(f"SELECT LENGTH('{'x' * 1_000_000}')")
                # A statement is gathered after its answer: it is there when the connection answers the next.
                cursor.execute("DO 0")
                # Later connections write nothing that could stall by itself.
                server.do("SET GLOBAL long_query_time = 1000")
                stalled = threading.Thread(target=server.do, args=(f"SET GLOBAL {PLUGIN}_buffer = 0",))
                stalled.start()
                time.sleep(0.5)
                assert stalled.is_alive()
                began = time.monotonic()
                with server.instance.connections.connect() as other, other.cursor() as asking:
                    asking.execute("SET GLOBAL max_connections = 100")
                    asking.execute("SHOW GLOBAL VARIABLES LIKE 'max_connections'")
                assert time.monotonic() - began < 5
                assert stalled.is_alive()
                while stalled.is_alive():
                    with suppress(BlockingIOError):
                        os.read(reader, 1 << 20)
            server.do(f"SET GLOBAL {PLUGIN}_enabled = 0", f"SET GLOBAL {PLUGIN}_file = DEFAULT")
        finally:
            os.close(reader)


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
    """Return the numbered statements in all files of a rotated log."""
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
    another, server = buildable(lab, "mariadb-10.11"), lab.server("mariadb-11.8")
    plugin_dir = install_plugins(tmp_path, [built_slow_log_plugin(lab, another), server_audit_plugin(lab, server)])
    with users_server(server, tmp_path, {str(plugin_dir.name): str(plugin_dir.value)}) as running:
        with pytest.raises(pymysql.MySQLError) as raised:
            running.do(f"INSTALL SONAME '{PLUGIN}'")
        assert PLUGIN in raised.value.args[1]
        running.do("SELECT 1")
        # The server's own audit plugin is there too.
        running.do("INSTALL SONAME 'server_audit'")
        running.instance.read_log(0.2)


def test_another_revision_refuses_it(lab: Lab, tmp_path: Path) -> None:
    other = "10.11.1-MariaDB-0+deb12u1"
    with server_with_plugin(lab, "mariadb-10.11", tmp_path, version=other) as server:
        with pytest.raises(pymysql.MySQLError) as raised:
            server.do(f"INSTALL SONAME '{PLUGIN}'")
        assert "REDOLAB_SLOW_LOG" in raised.value.args[1]
        server.do("SELECT 1")
        server.instance.read_log(0.2)
        text = (tmp_path / "error.log").read_text()
    assert buildable(lab, "mariadb-10.11").version in text


def test_a_server_that_is_not_mariadb_has_none(lab: Lab, mariadb: InstalledServer) -> None:
    mysql = replace(mariadb, name="mysql-5.7", dialect=dialect_of("mysql", Version(5, 7, 22)))
    with pytest.raises(InvalidInput):
        built_slow_log_plugin(lab, mysql)
    with pytest.raises(InvalidInput):
        server_audit_plugin(lab, mysql)


def test_it_is_put_where_a_person_wants_it(tmp_path: Path) -> None:
    with open_lab(Progress(Console(quiet=True)), RunStore().clear_unfinished) as lab:
        server = buildable(lab, "mariadb-10.11")
    with in_catalogue(server):
        done = subprocess.run(
            [PROJECT.root / ".venv/bin/redolab", "slowlog", "plugin", server.name, "-o", tmp_path],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    assert f"{tmp_path / PLUGIN_FILE} is for {server.name} {server.version}" in done.stdout
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
    counts = r"^([a-z-]+): .*; lost (\d+), torn (\d+), twice (\d+), in a foreign file (\d+)$"
    wrong = {way: sum(map(int, numbers)) for way, *numbers in re.findall(counts, done.stdout, re.MULTILINE)}
    assert wrong["kept"] == wrong["gathered"] == 0
    # Ways that are known to be wrong show that the test would see it.
    assert wrong["close-then-open"] > 0
    assert wrong["count-then-swap"] > 0
