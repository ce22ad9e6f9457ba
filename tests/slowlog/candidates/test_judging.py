"""Executions to judgements, by the log alone or with a made server."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from typing_extensions import override

from redolab.slowlog.candidates.candidates_report import CandidatesReport, as_json
from redolab.slowlog.candidates.counting import Countable
from redolab.slowlog.candidates.deciding import (
    Judged,
    Known,
    Rows,
    RowsBound,
    Verdict,
    judge,
)
from redolab.slowlog.candidates.explain import (
    AskedServer,
    NotAnswered,
    TableRead,
    counted_tables,
    estimated_rows,
    plan_of,
)
from redolab.slowlog.digest.classes import Example
from redolab.slowlog.digest.digesting import digest

SMALL_LOG = Path(__file__).with_name("small.log")
SCAN = TableRead("SIMPLE", "t", "ALL", 1000, 10.0)


@dataclass
class MadeServer(AskedServer):
    rows: int | NotAnswered = 100

    @override
    def plan(self, countable: Countable, database: str | None, *, of_count: bool = False) -> tuple[TableRead, ...]:
        return (SCAN,)

    @override
    def count(self, countable: Countable, database: str | None) -> int:
        if isinstance(self.rows, NotAnswered):
            raise self.rows
        return self.rows


def execution(text: str, sent: int | None, examined: int | None, cut: bool = False) -> Example:
    return Example(text=text, seconds=1.0, database="d", rows_sent=sent, rows_examined=examined, cut=cut)


@pytest.mark.parametrize(
    ("text", "sent", "examined", "verdict", "known"),
    [
        ("SELECT a FROM t", 10, 10, Verdict.PERFECT, Known.LOG),
        ("SELECT a FROM t", 10, 50, Verdict.SOME_GAIN, Known.LOG),
        ("SELECT a FROM t", 10, 100, Verdict.CANDIDATE, Known.LOG),
        ("SELECT a FROM t", 0, 0, Verdict.PERFECT, Known.LOG),
        ("SELECT a FROM t", 0, 3, Verdict.CANDIDATE, Known.LOG),
        ("SELECT a FROM t, u WHERE t.a = u.a", 10, 20, Verdict.PERFECT, Known.LOG),
        ("SELECT a FROM t ORDER BY b LIMIT 10", 10, 10_010, Verdict.CANDIDATE, Known.LOG),
        ("SELECT DISTINCT a FROM t", 10, 10, Verdict.PERFECT, Known.LOG),
        ("SELECT DISTINCT a FROM t", 10, 1000, Verdict.UNKNOWN, Known.UNKNOWN),
        ("SELECT COUNT(*) FROM t", 1, 1, Verdict.UNKNOWN, Known.UNKNOWN),
        ("SELECT MAX(a) FROM t", 1, 0, Verdict.PERFECT, Known.LOG),
        ("SELECT 1", 1, 0, Verdict.UNKNOWN, Known.UNKNOWN),
        ("DELETE FROM t", 0, 1000, Verdict.UNKNOWN, Known.UNKNOWN),
        ("SELECT a FROM t", None, None, Verdict.UNKNOWN, Known.UNKNOWN),
    ],
)
def test_by_the_log_alone(text: str, sent: int | None, examined: int | None, verdict: Verdict, known: Known) -> None:
    found = judge(execution(text, sent, examined))
    assert (found.verdict, found.rows.known) == (verdict, known)
    assert (found.rows.count is None) == (known is Known.UNKNOWN)
    assert found.rows.reason or known is not Known.UNKNOWN


def test_what_is_cut_off_is_not_judged() -> None:
    assert judge(execution("SELECT a FROM t", 1, 1000, cut=True)).verdict is Verdict.UNKNOWN


GROUPED = execution("SELECT a, COUNT(*) FROM t GROUP BY a", 2, 1000)


def test_a_server_counts_or_its_optimiser_estimates() -> None:
    measured = judge(GROUPED, MadeServer(), measure=True)
    assert (measured.rows, measured.ratio, measured.verdict) == (Rows(100, Known.MEASURED), 10.0, Verdict.CANDIDATE)
    estimated = judge(GROUPED, MadeServer(rows=3), measure=False)
    assert (estimated.rows, estimated.verdict) == (Rows(100, Known.ESTIMATED), Verdict.CANDIDATE)


def test_what_is_not_answered_or_refused_is_unknown_and_said() -> None:
    found = judge(GROUPED, MadeServer(rows=NotAnswered("no table t")), measure=True)
    assert (found.rows.known, found.verdict, found.note) == (Known.UNKNOWN, Verdict.UNKNOWN, "no table t")
    refused = judge(execution("SELECT f(a) FROM t GROUP BY a", 2, 1000), MadeServer(), measure=True)
    assert (refused.verdict, "f()" in refused.note) == (Verdict.UNKNOWN, True)
    # The log decides about a statement without grouping, also where no server is asked.
    assert judge(execution("SELECT f(a) FROM t", 2, 1000), MadeServer(), measure=True).verdict is Verdict.CANDIDATE


def test_a_limit_of_groups_makes_a_a_bound() -> None:
    limited = execution("SELECT a FROM t GROUP BY a LIMIT 2", 2, 50)
    found = judge(limited, MadeServer(rows=100), measure=True)
    assert (found.rows.bound, found.verdict) == (RowsBound.AT_MOST, Verdict.UNKNOWN)
    assert judge(limited, MadeServer(rows=5), measure=True).verdict is Verdict.CANDIDATE


def test_a_plan_is_read_from_what_explain_prints() -> None:
    headings = ["id", "select_type", "table", "type", "rows", "filtered", "Extra"]
    plan = plan_of(headings, [[1, "SIMPLE", "a", "const", 1, 100.0, None], [1, "SIMPLE", "b", "ref", 40, 25.0, ""]])
    assert (counted_tables(plan), estimated_rows(plan)) == (1, 10)
    nothing = plan_of(headings, [[1, "SIMPLE", None, None, None, None, "Impossible WHERE"]])
    assert (counted_tables(nothing), estimated_rows(nothing)) == (1, 0)
    kept_none = plan_of(headings, [[1, "SIMPLE", "a", "ALL", 40, 0.0, ""]])
    assert estimated_rows(kept_none) == 0
    derived = plan_of(
        headings, [[1, "PRIMARY", "<derived2>", "ALL", 30, 100.0, ""], [2, "DERIVED", "t", "ALL", 500, 100.0, ""]]
    )
    assert (counted_tables(derived), estimated_rows(derived)) == (1, 30)


def test_json_tells_an_infinite_ratio_from_an_unknown_one() -> None:
    query = digest([SMALL_LOG]).classes[0]
    judged = [
        Judged(rank=1, query=msgspec.structs.replace(query, example=each), judgement=judge(each))
        for each in (execution("SELECT a FROM t", 0, 1000), execution("DELETE FROM t", 0, 9))
    ]
    assert math.isinf(judged[0].judgement.ratio or 0)
    made = json.loads(as_json(CandidatesReport(classes=2, asked=None, judged=judged)))
    infinite, none = (each["judgement"] for each in made["judged"])
    assert (infinite["ratio"], infinite["rows"]["count"], none["ratio"], none["rows"]["count"]) == (None, 0, None, None)
