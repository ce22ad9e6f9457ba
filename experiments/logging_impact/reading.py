"""How much a query log has written so far, and how many statements the server was sent."""

from __future__ import annotations

from pathlib import Path

from pymysql.connections import Connection

from redolab.servers.instance import DATA, Instance
from redolab.servers.sandbox import INSTANCE

from .logs import Counted, QueryLog

_PIECE = 1 << 20
_TABLE = Path("mysql/slow_log.CSV")
_DIGESTED = "SELECT COALESCE(SUM(COUNT_STAR), 0) FROM performance_schema.events_statements_summary_by_digest"


def statements_so_far(connection: Connection) -> int:
    """Statements that clients have sent since the server was started (`Questions`), this one included."""
    return int(_value(connection, "SHOW GLOBAL STATUS LIKE 'Questions'", 1))


def logged_so_far(connection: Connection, instance: Instance, log: QueryLog) -> tuple[int | None, int | None]:
    """Bytes, and lines of a file, rows of a table or statements in digests; None where a log has no such thing."""
    if log.counted is Counted.FILE:
        assert log.file is not None
        return _bytes_and_lines(on_this_machine(instance, log.file))
    if log.counted is Counted.TABLE:
        # A row is a line of the file, in which a line's end within a value is written as two characters.
        return _bytes_and_lines(instance.folder / DATA / _TABLE)
    if log.counted is Counted.DIGESTS:
        return None, int(_value(connection, _DIGESTED, 0))
    return None, None


def on_this_machine(instance: Instance, file: Path) -> Path:
    """Where a file of the instance's folder lies, which the server sees there."""
    return instance.folder / file.relative_to(INSTANCE)


def _bytes_and_lines(file: Path) -> tuple[int, int]:
    """Of a file that grows meanwhile; a file that is not there yet has none."""
    if not file.exists():
        return 0, 0
    size = lines = 0
    left = file.stat().st_size
    with file.open("rb") as opened:
        while left > 0 and (piece := opened.read(min(_PIECE, left))):
            size += len(piece)
            lines += piece.count(b"\n")
            left -= len(piece)
    return size, lines


def _value(connection: Connection, statement: str, column: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
    assert row is not None
    return int(row[column])
