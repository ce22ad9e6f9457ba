"""The source's examples on a table of the same form, further statements, and the rows that servers count for them.

The source's table had ten million rows; this one has `ROWS`, and servers count other numbers.

    .venv/bin/python -m tests.slowlog.candidates.examples [SERVER… | table]

writes `counted.json` anew, and prints the Markdown of the tables in docs/query-logs/candidates.md; `table` only prints.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pymysql
from pymysql.connections import Connection
from rich.console import Console

from redolab.lab import native_folder, open_lab
from redolab.machine import files
from redolab.progress import Progress
from redolab.runs.store import RunStore
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import SLOW_LOG, InstanceRequest, Purpose
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance
from redolab.units import MIB

COUNTED = Path(__file__).parent / "counted.json"
ROWS = 10_000
DATABASE = "worth"
REQUEST = InstanceRequest(purpose=Purpose.RECOVER, log_size=16 * MIB, buffer_pool=64 * MIB, slow_log=True)

SOURCE: Mapping[str, str] = {
    "no match, no index": "SELECT * FROM sbtest WHERE pad = 'none'",
    "no match, index": "SELECT * FROM sbtest WHERE k = 1",
    "const, const": "SELECT a.id, b.pad FROM sbtest a, sbtest b WHERE a.id = 5 AND b.id = a.k",
    "ref, eq_ref": "SELECT a.id, b.pad FROM sbtest a, sbtest b WHERE a.k = 2 AND b.id = a.id",
    "count, group by": "SELECT COUNT(*) FROM sbtest GROUP BY k",
}
"""The five of the source, by name."""

OTHERS: Mapping[str, str] = {
    "const": "SELECT pad FROM sbtest WHERE id = 5",
    "const, no match": "SELECT pad FROM sbtest WHERE id = -5",
    "const, scan": "SELECT a.id, b.pad FROM sbtest a, sbtest b WHERE a.id = 5 AND b.pad = 'none'",
    "const, ref": "SELECT a.id, b.pad FROM sbtest a, sbtest b WHERE a.id = 5 AND b.k = a.k",
    "system table": "SELECT b.pad FROM one a, sbtest b WHERE b.pad = 'none' AND a.v = 1",
    "count of all": "SELECT COUNT(*) FROM sbtest",
    "count, no match": "SELECT COUNT(*) FROM sbtest WHERE pad = 'none'",
    "largest of an index": "SELECT MAX(k) FROM sbtest",
    "group by, temporary table": "SELECT c, COUNT(*) FROM sbtest GROUP BY c",
    "distinct, index": "SELECT DISTINCT k FROM sbtest",
    "order by limit": "SELECT pad FROM sbtest ORDER BY c LIMIT 10",
    "limit alone": "SELECT pad FROM sbtest LIMIT 10",
    "offset": "SELECT pad FROM sbtest LIMIT 5000, 10",
    "union all": "SELECT id FROM sbtest WHERE pad = 'none' UNION ALL SELECT id FROM sbtest WHERE k = 2",
    "union": "SELECT k FROM sbtest UNION SELECT k FROM sbtest",
    "derived table": "SELECT d.id FROM (SELECT id, pad FROM sbtest) d WHERE d.pad = 'none'",
    "grouped derived table": "SELECT d.k, d.n FROM (SELECT k, COUNT(*) n FROM sbtest GROUP BY k) d",
    "left join, no match": "SELECT a.id FROM sbtest a LEFT JOIN sbtest b ON b.id = -a.id WHERE a.pad = 'p1'",
    "in subquery": "SELECT a.id FROM sbtest a WHERE a.id IN (SELECT b.k FROM sbtest b)",
    "exists": "SELECT a.id FROM sbtest a WHERE EXISTS (SELECT 1 FROM sbtest b WHERE b.id = a.k)",
    "scalar subquery": "SELECT a.id, (SELECT MAX(b.pad) FROM sbtest b) FROM sbtest a WHERE a.id < 11",
    "join without an index": "SELECT a.id FROM sbtest a, sbtest b WHERE a.id < 11 AND b.pad = a.pad",
    "index condition": "SELECT pad FROM parts WHERE a = 1 AND b LIKE '%none'",
    "partition": "SELECT v FROM partitioned WHERE id BETWEEN 1 AND 10",
    "partition pruned to none": "SELECT v FROM partitioned WHERE id = 999999",
}  # fmt: skip
"""What the source does not speak of, by name."""


class Counted(msgspec.Struct, frozen=True):
    """Numbers that a server logs for a statement, and the access types in its EXPLAIN."""

    rows_sent: int
    rows_examined: int
    access: tuple[str, ...]


_TABLES = (
    "CREATE TABLE sbtest (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, c CHAR(20) NOT NULL, pad CHAR(20) NOT NULL, KEY k (k)) "
    "ENGINE=InnoDB",
    "CREATE TABLE parts (id INT NOT NULL PRIMARY KEY, a INT NOT NULL, b VARCHAR(20) NOT NULL, pad CHAR(20) NOT NULL, "
    "KEY ab (a, b)) ENGINE=InnoDB",
    "CREATE TABLE one (v INT NOT NULL) ENGINE=MyISAM",
    "CREATE TABLE partitioned (id INT NOT NULL PRIMARY KEY, v INT NOT NULL) ENGINE=InnoDB PARTITION BY RANGE (id) "
    "(PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN (200))",
)


def make_tables(connection: Connection) -> None:
    """Make the tables in a database of their own, which becomes the connection's, with their statistics taken."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE}")
        cursor.execute(f"USE {DATABASE}")
        for table in _TABLES:
            cursor.execute(table)
        # As sysbench left it: k is 0 but where a row was updated. The fifth is, so that a.id=5 finds its b.
        cursor.executemany(
            "INSERT INTO sbtest VALUES (%s, %s, %s, %s)",
            [(n, 2 if n == 5 else 0, f"c{n}", f"p{n}") for n in range(1, ROWS + 1)],
        )
        cursor.executemany(
            "INSERT INTO parts VALUES (%s, %s, %s, %s)", [(n, n % 50, f"b{n}", f"p{n}") for n in range(1, 1001)]
        )
        cursor.execute("INSERT INTO one VALUES (1)")
        cursor.executemany("INSERT INTO partitioned VALUES (%s, %s)", [(n, n) for n in range(1, 200)])
        cursor.execute("ANALYZE TABLE sbtest, parts, one, partitioned")


@contextmanager
def running(server: InstalledServer, folder: Path) -> Iterator[Instance]:
    """Run a server with these tables and a slow log of every statement."""
    initialise(server, folder, REQUEST)
    with Instance.start(server, folder, REQUEST, folder / "error.log") as instance:
        instance.wait_ready(60)
        with instance.connections.connect() as connection:
            make_tables(connection)
        yield instance


def counted(instance: Instance, connection: Connection, statement: str) -> Counted:
    """Run a statement. Return the numbers in the slow log."""
    log = instance.folder / SLOW_LOG
    with connection.cursor() as cursor:
        try:
            cursor.execute(f"EXPLAIN FORMAT=TRADITIONAL {statement}")
        except pymysql.err.ProgrammingError:
            # MySQL 5.5 has no other.
            cursor.execute(f"EXPLAIN {statement}")
        headings = [each[0] for each in cursor.description or ()]
        access = [str(row[headings.index("type")] or row[headings.index("Extra")]) for row in cursor.fetchall()]
        # A server logs a statement once it has answered it, and before it takes the connection's next.
        cursor.execute("DO 0")
        before = log.stat().st_size
        cursor.execute(statement)
        cursor.fetchall()
        cursor.execute("DO 0")
    said = log.read_bytes()[before:].decode()
    found = re.search(
        r"Rows_sent: (\d+)\s+Rows_examined: (\d+)(?:(?!# Query_time)[\s\S])*?\n" + re.escape(statement), said
    )
    assert found is not None, said
    return Counted(int(found[1]), int(found[2]), tuple(access))


class Server(msgspec.Struct, frozen=True):
    """Counts of one server, by the name of the statement."""

    version: str
    statements: Mapping[str, Counted]


def read_counted() -> dict[str, Server]:
    """Read `counted.json`, by server."""
    return msgspec.json.decode(COUNTED.read_bytes(), type=dict[str, Server]) if COUNTED.exists() else {}


def main(wanted: list[str]) -> None:
    """Measure these servers, or all, and write the counts; with the word `table` only print the tables."""
    if wanted == ["table"]:
        sys.stdout.write(tables(read_counted()))
        return
    found = read_counted()
    with open_lab(Progress(Console(stderr=True)), RunStore().clear_unfinished) as lab:
        folder = native_folder(lab.folder) / "instances" / "worth"
        for name in wanted or server_catalogue().names():
            server = lab.server(name)
            with (
                lab.journal.making(folder, "an instance"),
                running(server, folder) as instance,
                instance.connections.connect() as connection,
            ):
                connection.select_db(DATABASE)
                statements = {
                    case: counted(instance, connection, statement)
                    for case, statement in (*SOURCE.items(), *OTHERS.items())
                }
            files.remove(folder)
            found[name] = Server(server.version, statements)
            ordered = {each: found[each] for each in server_catalogue().names() if each in found}
            COUNTED.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")
    sys.stdout.write(tables(read_counted()))


def tables(found: Mapping[str, Server]) -> str:
    """Return two tables: the source's examples with a row for each different count, and the others with a row each."""
    lines = ["| statement | sent | examined | access |", "| --- | ---: | ---: | --- |"]
    for case in SOURCE:
        lines += [
            f"| {case} | {each.rows_sent:,} | {each.rows_examined:,} | {', '.join(each.access)} |"
            for each in dict.fromkeys(server.statements[case] for server in found.values())
        ]
    lines += ["", "| statement | sent | examined |", "| --- | ---: | --- |"]
    for case, statement in OTHERS.items():
        alike: dict[int, list[str]] = {}
        for name, server in found.items():
            alike.setdefault(server.statements[case].rows_examined, []).append(name)
        most = max(alike.values(), key=len)
        examined = "; ".join(
            f"{rows:,}" if len(alike) == 1 else f"{rows:,} ({'the others' if names is most else ', '.join(names)})"
            for rows, names in alike.items()
        )
        sent = next(iter(found.values())).statements[case].rows_sent
        lines.append(f"| {case}: `{statement}` | {sent:,} | {examined} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
