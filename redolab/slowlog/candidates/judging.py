"""Decision, from one execution of a statement, if its class is an optimisation candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from redolab.slowlog.candidates.asking import NotAnswered, TimedOut
from redolab.slowlog.candidates.counting import Countable, Refused, countable
from redolab.slowlog.candidates.plan import TableRead, compares_uncounted, const_tables, counted_tables, estimated_rows
from redolab.slowlog.candidates.shape import Grouping, Shape, Unreadable, parse, rows_by_log, shape_of
from redolab.slowlog.candidates.verdict import (
    Bound,
    Known,
    Rows,
    Verdict,
    examined_per_table,
    ratio,
    unknown,
    verdict_of,
)


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """An execution as a log has it; `cut`: `text` is only the beginning of the statement."""

    text: str
    database: str | None
    rows_sent: int | None
    rows_examined: int | None
    cut: bool = False


class ClassOfQueries(msgspec.Struct, frozen=True, kw_only=True):
    """A class of queries, with one execution for the decision.

    `share`: of the query time of all, 0 to 1; `seconds`: its whole query time; `count`: its executions.
    """

    fingerprint: str
    id: str
    share: float
    seconds: float
    count: int
    execution: Execution


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Decision if a class is an optimisation candidate, with its reason.

    `tables`: number of tables whose rows the server counts; `const`: further tables, read by const, None where no
    server was asked. `examined_per_table`: B; `rows`: A; `ratio`: B/A, None where A is unknown and, as JSON has no
    infinity, in JSON where A is 0 and B is not. `note`: remark for the reader.
    """

    tables: int | None
    const: int | None
    examined_per_table: float | None
    rows: Rows
    ratio: float | None
    verdict: Verdict
    note: str = ""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A class with the decision on it; `rank`: 1 has the longest query time."""

    rank: int
    query: ClassOfQueries
    judgement: Judgement


class Server(Protocol):
    """Source of facts about a statement; each method raises `NotAnswered`."""

    def plan(self, countable: Countable, database: str | None) -> Sequence[TableRead]:
        """Return the plan by which the statement's tables would be read."""

    def plan_of_count(self, countable: Countable, database: str | None) -> Sequence[TableRead]:
        """Return the plan by which their rows would be counted."""

    def count(self, countable: Countable, database: str | None) -> int:
        """Return the number of rows that the statement joins."""


def judge(execution: Execution, server: Server | None = None, measure: bool = False) -> Judgement:
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
    answer = _Answer(shape.tables, None, rows_by_log(shape, execution.rows_sent))
    if server is not None:
        answer = _ask(server, measure, execution, shape, answer)
    examined = examined_per_table(execution.rows_examined, answer.tables)
    rows = answer.rows
    verdict = verdict_of(examined, rows)
    if verdict is Verdict.UNKNOWN and rows.bound is Bound.AT_LEAST:
        rows = unknown(answer.note or f"{shape.grouping}: the log does not tell the rows behind it")
    elif verdict is Verdict.UNKNOWN and rows.bound is Bound.AT_MOST:
        rows = msgspec.structs.replace(rows, reason="its LIMIT takes some of the groups: A is at most that")
    note = answer.note
    if answer.uncounted and verdict in {Verdict.PERFECT, Verdict.SOME_GAIN}:
        # B is more than the log says. A candidate stays one.
        verdict, note = Verdict.UNKNOWN, "; ".join(each for each in (note, _BUFFERED) if each)
    return Judgement(
        tables=answer.tables,
        const=answer.const,
        examined_per_table=examined,
        rows=rows,
        ratio=ratio(examined, rows),
        verdict=verdict,
        note=note,
    )


_BUFFERED = "joined in a join buffer: some versions do not count the rows compared there"


class _Answer(msgspec.Struct, frozen=True):
    tables: int
    const: int | None
    rows: Rows
    note: str = ""
    uncounted: bool = False


def _ask(server: Server, measure: bool, execution: Execution, shape: Shape, known: _Answer) -> _Answer:
    try:
        asked = countable(execution.text)
        plan = server.plan(asked, execution.database)
        known = _Answer(counted_tables(plan), const_tables(plan), known.rows, uncounted=compares_uncounted(plan))
        if shape.grouping is Grouping.NONE:
            return known
        rows, note = _rows(server, measure, asked, execution.database)
    except (Refused, NotAnswered) as error:
        return msgspec.structs.replace(
            known, note=f"the server was not asked: {error}" if isinstance(error, Refused) else str(error)
        )
    bound = Bound.AT_MOST if shape.limited else Bound.EXACT
    return msgspec.structs.replace(known, rows=msgspec.structs.replace(rows, bound=bound), note=note)


def _rows(server: Server, measure: bool, asked: Countable, database: str | None) -> tuple[Rows, str]:
    note = ""
    if measure:
        try:
            return Rows(server.count(asked, database), Known.MEASURED), note
        except TimedOut as error:
            note = f"{error}, so estimated"
    return Rows(estimated_rows(server.plan_of_count(asked, database)), Known.ESTIMATED), note


def _unjudged(reason: str) -> Judgement:
    return Judgement(
        tables=None,
        const=None,
        examined_per_table=None,
        rows=unknown(reason),
        ratio=None,
        verdict=Verdict.UNKNOWN,
    )
