"""Decisions on the classes of slow query logs, with facts from a server of the user's where one is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pymysql

from redolab.errors import InvalidInput
from redolab.machine.interrupts import unwinding
from redolab.servers.address import Address, refused
from redolab.slowlog.candidates.candidates_report import CandidatesReport
from redolab.slowlog.candidates.deciding import Judged, judge
from redolab.slowlog.candidates.explain import AskedServer, asked_server
from redolab.slowlog.digest.classes import QueryClass
from redolab.slowlog.digest.digesting import digest

_SHORTEST, _LONGEST = 0.1, 3600.0


def report_candidates(
    paths: Sequence[Path], top: int, address: Address | None, measure: bool, at_most: float, say: Callable[[str], None]
) -> CandidatesReport:
    """Decide on the `top` classes by query time of slow query logs.

    The server at `address` is asked for its EXPLAIN and, with `measure`, counts; each statement may take `at_most`
    seconds. Raises `InvalidInput` for a time or a number that makes no sense, and `LabError` if the server cannot be
    asked.
    """
    if not _SHORTEST <= at_most <= _LONGEST:
        raise InvalidInput(f"a statement cannot have {at_most:g} s", "give 0.1s to 1h")
    if top < 1:
        raise InvalidInput(f"{top} classes are none", "give 1 or more")
    classes = digest(paths).classes
    queries = classes[:top]
    if address is None:
        judged = _judged(queries, None, False, say)
        return CandidatesReport(classes=len(classes), asked=None, judged=judged)
    try:
        with unwinding(), asked_server(address.connect, at_most) as server:
            judged = _judged(queries, server, measure, say)
    except pymysql.MySQLError as error:
        raise refused(address, error) from error
    return CandidatesReport(classes=len(classes), asked=str(address), judged=judged, note=server.note)


def _judged(
    queries: Sequence[QueryClass], server: AskedServer | None, measure: bool, say: Callable[[str], None]
) -> list[Judged]:
    judged = []
    for rank, query in enumerate(queries, 1):
        if server is not None:
            say(f"asking for {rank} of {len(queries)}")
        judged.append(Judged(rank=rank, query=query, judgement=judge(query.example, server, measure)))
    return judged
