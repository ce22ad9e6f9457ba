"""Slow query logs from a seed, in the forms of all servers, of statements that no one would write."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

PIECES = (
    "select ", "SELECT a FROM t ", "insert into t values (", "insert into t(a,b) values(", "replace ignore into ", "update t set a = ",
       "call p(1)", "call p2(1)", "CALL db1.p1(1)", "CALL  x.y1(2, f(3))", "use db", "begin",
    "),(", ")", "(", ",", "'a\\'b'", "'x'", '"y"', "'", '"', "\\", "\\\\",
    " union ", " union all ", "1", "-1", "+5", "0xAB", "0xab12", "1e5", ".5", "a.5", "null", "NULL", " true ", "false", "/* c */",
    "/*!40001 x */", "--", "-- c\n", " # c\n", "\n", "\r\n", "\t", "\v", "  ", " in (1,2,3)", " IN ('a', 'b')", " value (1)",
    " limit 5, 10", " limit 5 offset 10", " LIMIT 3", " order by a asc, b ASC", " order by ", " asc", " ascii(", "é", "ü漢字",
    "/*a.b:1/2*/", "SELECT /*!40001 SQL_NO_CACHE */ * FROM `t`", "a1b2", "x'1F'", "b'01'", "n?", "?", " where a = ", " and ", "`t1`",
    "@@x", "--x'", "#y\"", ";", "date '2024-01-01'", "from t ", "values", "in", "a_1", "abc123def", "\x00", "/*", "*/", "# Time: ",
)  # fmt: skip
"""What statements are put together from."""
FORMS = ("5.1", "5.5", "5.6", "5.7", "8.0", "8.0 extra", "mariadb", "mariadb explain", "percona")
_HEADER = (
    "/usr/sbin/mysqld, Version: 5.5.9-log (MySQL Community Server (GPL)). started with:\n"
    "Tcp port: 3306  Unix socket: /tmp/mysql.sock\nTime                 Id Command    Argument\n"
)


def statement(r: random.Random) -> str:
    """Return a random statement that a log can hold; most make no sense."""
    while True:
        text = "".join(r.choice(PIECES) for _ in range(r.randint(1, 12)))
        # What the server's own lines look like is told from them by no reader.
        if (
            text.strip("\n\r")
            and not text.startswith(("#", "use ", "SET ", "0"))
            and ";\n#" not in text
            and not text.endswith((";", ";\n"))
        ):
            return text


def log(seed: int, records: int = 60) -> bytes:
    """Return a log with this number of records, in the form of one server."""
    r = random.Random(seed)
    form = r.choice(FORMS)
    statements = [statement(r) for _ in range(8)]
    at, last, parts = datetime(2024, 5, 1, 10), "", [_HEADER] if r.random() < 0.7 else []
    for _ in range(records):
        at += timedelta(microseconds=r.choice((10, 400_000, 3_000_000)))
        stamp = _stamp(form, at)
        own = form in ("5.7", "8.0", "8.0 extra") or stamp != last
        last = stamp
        parts.append(f"# Time: {stamp}\n" if own else "")
        parts.append(_lines(form, r))
        if r.random() < 0.1:
            parts.append(f"use db{r.randint(1, 3)};\n")
        parts.append(f"SET timestamp={int(at.timestamp())};\n")
        if r.random() < 0.08:
            parts.append(f"# administrator command: {r.choice(('Quit', 'Ping', 'Init DB', 'Close stmt'))};\n")
        elif r.random() < 0.5:
            parts.append(f"{r.choice(statements)};\n")
        else:
            parts.append(f"{statement(r)};\n")
        if r.random() < 0.03:
            parts.append(_HEADER)
    return "".join(parts).encode()


def _stamp(form: str, at: datetime) -> str:
    if form in ("5.7", "8.0", "8.0 extra"):
        return f"{at:%Y-%m-%dT%H:%M:%S.%f}Z"
    return f"{at:%y%m%d} {at.hour:2d}:{at:%M:%S}"


def _lines(form: str, r: random.Random) -> str:
    took, lock = f"{r.lognormvariate(-5, 2):.6f}", f"{r.random() / 1000:.6f}"
    sent, examined = r.randint(0, 50), r.randint(0, 5000)
    figures = f"# Query_time: {took}  Lock_time: {lock} Rows_sent: {sent}  Rows_examined: {examined}"
    user = "# User@Host: root[root] @ localhost []"
    match form:
        case "5.1" | "5.5":
            return f"{user}\n{figures}\n"
        case "mariadb" | "mariadb explain":
            lines = f"{user}\n# Thread_id: 9  Schema: shop  QC_hit: No\n{figures}\n# Rows_affected: 0  Bytes_sent: 96\n"
            return f"{lines}#\n# explain: id\tselect_type\n# explain: 1\tSIMPLE\n#\n" if "explain" in form else lines
        case "percona":
            return f"{user}  Id:    9\n# Schema: shop  Last_errno: 0  Killed: 0\n{figures}  Rows_affected: 0\n# Bytes_sent: 56\n"
        case "8.0 extra":
            return f"{user}  Id:    9\n{figures} Thread_id: 9 Errno: 0 Killed: 0 Bytes_received: 0 Bytes_sent: 62 Start: x End: y\n"
        case _:
            return f"{user}  Id:    9\n{figures}\n"


def pieces(content: bytes, folder: Path, seed: int, count: int = 200) -> list[Path]:
    """Write the content to files, cut at `count` random places."""
    r = random.Random(seed)
    places = sorted({0, *(r.randrange(len(content)) for _ in range(count)), len(content)})
    files = []
    for number, (begin, end) in enumerate(pairwise(places)):
        files.append(folder / f"piece.{number:04d}")
        files[-1].write_bytes(content[begin:end])
    return files
