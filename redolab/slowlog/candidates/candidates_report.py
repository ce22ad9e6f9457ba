"""Report of the optimisation candidates, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from redolab.report.numbers import NONE, number
from redolab.report.table import Column, ReportTable
from redolab.slowlog.candidates.deciding import CANDIDATE, CandidateJudgement, Judged, Known, RowsBound, Verdict
from redolab.slowlog.digest.digest_report import clipped

_WIDEST = 60
"""Characters of a fingerprint that a table shows."""
_BOUNDS = {RowsBound.EXACT: "", RowsBound.AT_LEAST: "≥ ", RowsBound.AT_MOST: "≤ "}


class CandidatesReport(msgspec.Struct, frozen=True, kw_only=True):
    """Decisions on the first of `classes` classes by query time.

    `asked`: the server that was asked, None without one; `note`: remark about that server.
    """

    classes: int
    asked: str | None
    judged: Sequence[Judged]
    note: str = ""

    def share(self, verdict: Verdict) -> float:
        """Return the share of the query time of all classes, 0 to 1, that classes with this decision have."""
        return sum(each.query.share for each in self.judged if each.judgement.verdict is verdict)


def as_json(report: CandidatesReport) -> str:
    """Return the report as JSON. An infinite B/A is null, as an unknown one is; `rows` shows which it is."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode()


def answer(report: CandidatesReport) -> str:
    """Return the candidates and the shares of the query time, as a sentence."""
    candidates = [each for each in report.judged if each.judgement.verdict is Verdict.CANDIDATE]
    if candidates:
        ranks = ", ".join(f"#{each.rank}" for each in candidates)
        sentence = f"Worth optimising: {ranks}, {report.share(Verdict.CANDIDATE):.0%} of the query time."
    elif any(each.judgement.verdict is not Verdict.UNKNOWN for each in report.judged):
        sentence = f"None examines {CANDIDATE:g} times the rows that its answer takes, as far as is known."
    else:
        return "Of none is it known whether it is worth optimising."
    rest = [
        f"{report.share(verdict):.0%} {words}"
        for verdict, words in (
            (Verdict.SOME_GAIN, "has some gain"),
            (Verdict.PERFECT, "is perfect"),
            (Verdict.UNKNOWN, "is unknown"),
        )
        if any(each.judgement.verdict is verdict for each in report.judged)
    ]
    return f"{sentence} Of the time {', '.join(rest)}." if rest else sentence


def table(report: CandidatesReport) -> ReportTable:
    """Return a table with a row for each class."""
    return ReportTable.of("worth optimising", report.judged, _COLUMNS, list(_notes(report)))


def _notes(report: CandidatesReport) -> Iterator[str]:
    yield (
        "Rows are those of the slowest execution. B: rows examined for each table; A: rows sent without GROUP BY, DISTINCT and "
        "aggregates; B ≤ A is perfect, 10 A a candidate (docs/query-logs/candidates.md)."
    )
    if report.classes > len(report.judged):
        rest = 1 - sum(each.query.share for each in report.judged)
        yield f"{report.classes - len(report.judged)} more classes with {rest:.0%} of the time were not judged (--top)."
    if report.note:
        yield report.note
    reasons: dict[str, list[str]] = {}
    for each in report.judged:
        if reason := each.judgement.note or each.judgement.rows.reason:
            reasons.setdefault(reason, []).append(f"#{each.rank}")
    for reason, ranks in reasons.items():
        yield f"{', '.join(ranks)}: {reason}"
    if any(_is_unseen_join(each.judgement) for each in report.judged):
        yield (
            "Joins that no server explained: const accesses and rows compared in a join buffer are not counted in a log, so "
            "that B may be more than is said."
        )
    if report.asked is None and any(_needs_server(each.judgement) for each in report.judged):
        yield "A server tells more: its address has EXPLAIN asked, --measure has it count."


def _needs_server(judgement: CandidateJudgement) -> bool:
    return judgement.tables is not None and judgement.rows.known is Known.UNKNOWN


def _is_unseen_join(judgement: CandidateJudgement) -> bool:
    return judgement.const is None and (judgement.tables or 0) > 1 and judgement.verdict is not Verdict.UNKNOWN


def _rows(judgement: CandidateJudgement) -> str:
    rows = judgement.rows
    if rows.count is None:
        return NONE
    about = "~" if rows.known is Known.ESTIMATED else ""
    return f"{_BOUNDS[rows.bound]}{about}{rows.count:,}"


def _ratio(judgement: CandidateJudgement) -> str:
    ratio = judgement.ratio
    if ratio is None:
        return NONE
    if math.isinf(ratio):
        return "∞"
    return f"{ratio:,.3g}" if ratio < 1000 else f"{ratio:,.0f}"


def _number(value: float | None) -> str:
    return number(value, 0 if value is None or value == round(value) else 1)


def _tables(judgement: CandidateJudgement) -> str:
    if judgement.tables is None:
        return NONE
    return f"{judgement.tables} + {judgement.const} const" if judgement.const else str(judgement.tables)


_COLUMNS: Sequence[Column[Judged]] = (
    Column("#", lambda each: str(each.rank), right=True),
    Column("time", lambda each: f"{each.query.share:.1%}", right=True),
    Column("count", lambda each: f"{each.query.count:,}", right=True),
    Column("rows sent", lambda each: _number(each.query.example.rows_sent), right=True),
    Column("examined", lambda each: _number(each.query.example.rows_examined), right=True),
    Column("tables", lambda each: _tables(each.judgement), right=True),
    Column("B", lambda each: _number(each.judgement.examined_per_table), right=True),
    Column("A", lambda each: _rows(each.judgement), right=True),
    Column("A by", lambda each: str(each.judgement.rows.known)),
    Column("B/A", lambda each: _ratio(each.judgement), right=True),
    Column("verdict", lambda each: str(each.judgement.verdict)),
    Column("query", lambda each: clipped(each.query.fingerprint, _WIDEST)),
)
