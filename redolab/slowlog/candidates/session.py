"""Slow query logs in, judgements out; with a server of the user's own where one is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pymysql

from redolab.errors import InvalidInput
from redolab.servers.address import Address, refused
from redolab.slowlog.candidates.asking import AskedServer
from redolab.slowlog.candidates.judging import ClassOfQueries, Judged, Server, judge
from redolab.slowlog.candidates.reading import queries_of
from redolab.slowlog.candidates.report import Worth
from redolab.slowlog.digest.digesting import digest

_SHORTEST, _LONGEST = 0.1, 3600.0


def worth_of(
    paths: Sequence[Path], top: int, address: Address | None, measure: bool, at_most: float, say: Callable[[str], None]
) -> Worth:
    """Decide on the `top` classes by query time of slow query logs.

    The server at `address` is asked for its EXPLAIN and, with `measure`, counts; each statement may take `at_most`
    seconds. Raises `InvalidInput` for a time or a number that makes no sense, and `LabError` if the server cannot be
    asked.
    """
    if not _SHORTEST <= at_most <= _LONGEST:
        raise InvalidInput(f"a statement cannot have {at_most:g} s", "give 0.1s to 1h")
    if top < 1:
        raise InvalidInput(f"{top} classes are none", "give 1 or more")
    found = digest(paths)
    queries = queries_of(found.classes)[:top]
    note = ""
    if address is None:
        judged = _judged(queries, None, False, say)
    else:
        try:
            with AskedServer(address.connect, at_most) as server:
                judged = _judged(queries, server, measure, say)
                note = server.note
        except pymysql.MySQLError as error:
            raise refused(address, error) from error
    return Worth(classes=len(found.classes), asked=None if address is None else str(address), judged=judged, note=note)


def _judged(
    queries: Sequence[ClassOfQueries], server: Server | None, measure: bool, say: Callable[[str], None]
) -> list[Judged]:
    judged = []
    for rank, query in enumerate(queries, 1):
        if server is not None:
            say(f"asking for {rank} of {len(queries)}")
        judged.append(Judged(rank=rank, query=query, judgement=judge(query.execution, server, measure)))
    return judged
