"""Decision, from one execution of a statement, if its class is an optimisation candidate.

The rule: rows examined for each table joined (B), against the rows that the answer is made of (A).
"""

from __future__ import annotations

import math
from enum import StrEnum

import msgspec

from redolab.slowlog.candidates.counting import Countable, Refused, countable
from redolab.slowlog.candidates.explain import (
    AskedServer,
    NotAnswered,
    TimedOut,
    compares_uncounted,
    const_tables,
    counted_tables,
    estimated_rows,
)
from redolab.slowlog.candidates.shape import Grouping, Shape, Unreadable, parse, shape_of
from redolab.slowlog.digest.classes import Example, QueryClass

PERFECT = 1.0
CANDIDATE = 10.0
"""Limits of B/A for the method's decisions (P. Zaitsev; data/published/query-logs.toml, worth_optimising)."""


class Known(StrEnum):
    """Source of A."""

    LOG = "log"
    """Exact: without grouping, A is the number of rows sent. Or a bound that settles the decision."""
    MEASURED = "measured"
    """Count on a server, of its present data."""
    ESTIMATED = "estimated"
    """Estimate of a server's optimiser, from its statistics."""
    UNKNOWN = "unknown"


class RowsBound(StrEnum):
    """Relation of a number of rows to A."""

    EXACT = "exact"
    AT_LEAST = "at least"
    AT_MOST = "at most"


class Verdict(StrEnum):
    """Decision on a class: worth optimising or not."""

    PERFECT = "perfect"
    SOME_GAIN = "some gain"
    CANDIDATE = "candidate"
    UNKNOWN = "unknown"


class Rows(msgspec.Struct, frozen=True):
    """A: rows sent once GROUP BY, DISTINCT and aggregates are taken away. None: unknown, for `reason`."""

    count: int | None
    known: Known
    bound: RowsBound = RowsBound.EXACT
    reason: str = ""


def unknown(reason: str) -> Rows:
    """Return an unknown A with the reason."""
    return Rows(None, Known.UNKNOWN, reason=reason)


def examined_per_table(rows_examined: int, tables: int) -> float:
    """Return B: rows examined for each table whose rows the server counts; no table counts as one."""
    return rows_examined / max(tables, 1)


def ratio(examined: float, rows: Rows) -> float | None:
    """Return B/A: 0 if nothing was examined, infinite if only A is 0, None if A is unknown."""
    if rows.count is None:
        return None
    if rows.count == 0:
        return math.inf if examined else 0.0
    return examined / rows.count


def verdict_of(examined: float, rows: Rows) -> Verdict:
    """Return the decision for B and A: with a bound, only if it holds for every possible A; with an unknown A, none."""
    times = ratio(examined, rows)
    if times is None:
        return Verdict.UNKNOWN
    if times <= PERFECT:
        # A larger A confirms it; a smaller one may not.
        return Verdict.UNKNOWN if rows.bound is RowsBound.AT_MOST else Verdict.PERFECT
    if times >= CANDIDATE:
        return Verdict.UNKNOWN if rows.bound is RowsBound.AT_LEAST else Verdict.CANDIDATE
    return Verdict.SOME_GAIN if rows.bound is RowsBound.EXACT else Verdict.UNKNOWN


def rows_by_log(shape: Shape, rows_sent: int) -> Rows:
    """Return A as far as the log alone tells.

    It is exact without grouping. Otherwise it is a lower bound: a group has at least one row.
    """
    if shape.grouping is Grouping.NONE:
        return Rows(rows_sent, Known.LOG)
    if shape.grouping is Grouping.ONE_ROW or shape.supergroups:
        return Rows(0, Known.LOG, RowsBound.AT_LEAST)
    return Rows(rows_sent, Known.LOG, RowsBound.AT_LEAST)


class CandidateJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """Decision if a class is an optimisation candidate, with its reason.

    `tables`: number of tables whose rows the server counts; `const`: further tables, read by const, None where no
    server was asked. `examined_per_table`: B; `rows`: A; `ratio`: B/A, None where A is unknown and, as JSON has no
    infinity, in JSON where A is 0 and B is not. `note`: remark for the reader.
    """

    tables: int | None = None
    const: int | None = None
    examined_per_table: float | None = None
    rows: Rows
    ratio: float | None = None
    verdict: Verdict
    note: str = ""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A class with the decision on it; `rank`: 1 has the longest query time."""

    rank: int
    query: QueryClass
    judgement: CandidateJudgement


def judge(execution: Example, server: AskedServer | None = None, measure: bool = False) -> CandidateJudgement:
    """Decide if the class of an execution is an optimisation candidate.

    Without grouping, A comes from the log. Otherwise `server` counts it (`measure`), or its optimiser estimates it.
    """
    if execution.rows_sent is None or execution.rows_examined is None:
        return _unjudged("the log has no rows sent and examined")
    if execution.cut:
        return _unjudged("the log has only the beginning of it")
    try:
        shape = shape_of(parse(execution.text))
    except Unreadable as error:
        return _unjudged(str(error))
    if shape.tables == 0:
        return _unjudged("it reads no table")
    facts = _Facts(shape.tables, rows_by_log(shape, execution.rows_sent))
    if server is not None:
        facts = _ask(server, measure, execution, shape, facts)
    examined = examined_per_table(execution.rows_examined, facts.tables)
    rows = facts.rows
    verdict = verdict_of(examined, rows)
    if verdict is Verdict.UNKNOWN and rows.bound is RowsBound.AT_LEAST:
        rows = unknown(facts.note or f"{shape.grouping}: the log does not tell the rows behind it")
    elif verdict is Verdict.UNKNOWN and rows.bound is RowsBound.AT_MOST:
        rows = msgspec.structs.replace(rows, reason="its LIMIT takes some of the groups: A is at most that")
    note = facts.note
    if facts.uncounted and verdict in {Verdict.PERFECT, Verdict.SOME_GAIN}:
        # B is more than the log says. A candidate stays one.
        verdict, note = Verdict.UNKNOWN, "; ".join(each for each in (note, _BUFFERED) if each)
    return CandidateJudgement(
        tables=facts.tables,
        const=facts.const,
        examined_per_table=examined,
        rows=rows,
        ratio=ratio(examined, rows),
        verdict=verdict,
        note=note,
    )


_BUFFERED = "joined in a join buffer: some versions do not count the rows compared there"


class _Facts(msgspec.Struct, frozen=True):
    """Facts about an execution, by the log or a server. `uncounted`: a join buffer is used, as `_BUFFERED` says."""

    tables: int
    rows: Rows
    const: int | None = None
    note: str = ""
    uncounted: bool = False


def _ask(server: AskedServer, measure: bool, execution: Example, shape: Shape, facts: _Facts) -> _Facts:
    """Return the facts by the log with those that the server adds, or with the reason why it adds none."""
    try:
        statements = countable(execution.text)
        plan = server.plan(statements, execution.database)
        facts = _Facts(counted_tables(plan), facts.rows, const_tables(plan), uncounted=compares_uncounted(plan))
        if shape.grouping is Grouping.NONE:
            return facts
        rows, note = _rows(server, measure, statements, execution.database)
    except Refused as error:
        return msgspec.structs.replace(facts, note=f"the server was not asked: {error}")
    except NotAnswered as error:
        return msgspec.structs.replace(facts, note=str(error))
    bound = RowsBound.AT_MOST if shape.limited else RowsBound.EXACT
    return msgspec.structs.replace(facts, rows=msgspec.structs.replace(rows, bound=bound), note=note)


def _rows(server: AskedServer, measure: bool, statements: Countable, database: str | None) -> tuple[Rows, str]:
    note = ""
    if measure:
        try:
            return Rows(server.count(statements, database), Known.MEASURED), note
        except TimedOut as error:
            note = f"{error}, so estimated"
    return Rows(estimated_rows(server.plan(statements, database, of_count=True)), Known.ESTIMATED), note


def _unjudged(reason: str) -> CandidateJudgement:
    return CandidateJudgement(rows=unknown(reason), verdict=Verdict.UNKNOWN)
