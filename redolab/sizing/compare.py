"""`redolab size --compare`: the sizes that published rules set for the same server, and the recovery time of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from redolab.models.sizing import Limits
from redolab.report.table import Column, ReportTable
from redolab.sizing.advising import Moment, SizeLine, sized_in_short
from redolab.sizing.demand import Demand
from redolab.sizing.question import Model
from redolab.sizing.rules import ServerFacts, published_rules, size_by
from redolab.sizing.size_in_words import held_in_words
from redolab.sizing.trade import Trades
from redolab.units import format_chance, format_duration, format_size

_MISSING = {
    "CPUs": "--cpus tells it",
    "memory": "--memory tells it",
    "mean of os_log_written": "no mean of Innodb_os_log_written",
    "hours of os_log_written": "no week of Innodb_os_log_written in a Prometheus",
}
"""Input of a rule → message if that input is missing."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Size that one rule sets, in bytes."""

    rule: str
    size: int | None
    line: SizeLine | None
    """Consequences of that size; None if the rule sets none, or one that the server cannot have."""
    in_time: bool | None
    """True if fewer recoveries than allowed exceed the limit; None if unknown."""
    source: str = ""
    version: str = ""
    why_not: str = ""


def compared(
    model: Model,
    demand: Demand,
    limits: Limits,
    facts: ServerFacts,
    present: int | None = None,
    trades: Trades | None = None,
    moment: Moment = Moment.ANY,
) -> list[Compared]:
    """Return the sizes by this tool, by each rule for such a server, and by the present setting (bytes)."""
    answer = sized_in_short(model, demand, limits, (), trades, moment)
    version, family = model.dialect.version, model.dialect.family
    rules = [rule for rule in published_rules() if rule.is_for(family, version)]
    known = replace(facts, holds_an_hour=answer.holds_an_hour)
    asked = [
        ("redolab", None if answer.expected is None else answer.expected.log_size, "", "", "no size recovers in time"),
        *((rule.name, size_by(rule, known), rule.source, rule.version, _MISSING.get(rule.by, "")) for rule in rules),
        *([("as it is", present, "", "", "")] if present is not None else []),
    ]
    sizes = sorted({size for _, size, *_ in asked if size is not None})
    lines = sized_in_short(model, demand, limits, sizes, trades, moment).lines
    found = []
    for rule, size, source, at, missing in asked:
        line = None if size is None else lines.get(size)
        why_not = missing if size is None else "" if line is not None else "no such log on this server"
        in_time = None if line is None else line.chance < limits.chance
        found.append(
            Compared(rule=rule, size=size, line=line, in_time=in_time, source=source, version=at, why_not=why_not)
        )
    return found


def compared_table(found: Sequence[Compared], limits: Limits, title: str, moment: Moment = Moment.ANY) -> ReportTable:
    """Return the sizes by the rules as a table."""
    rto = format_duration(limits.rto)
    has_usual = moment is Moment.ANY and any(each.line is not None and each.line.usual is not None for each in found)
    columns = [
        Column[Compared]("by", lambda each: each.rule),
        Column[Compared]("redo log", lambda each: "–" if each.size is None else format_size(each.size), right=True),
        Column[Compared]("of peak redo", lambda each: _told(each, lambda line: held_in_words(line.minutes_held)), right=True),
        Column[Compared]("at worst, typical", lambda each: _told(each, lambda line: format_duration(line.recovery_s)), right=True),
        Column[Compared]("at worst, 95 %", lambda each: _told(each, lambda line: format_duration(line.ninety.high_s)), right=True),
        *([Column[Compared]("at random, 95 %", lambda each: _told(each, _usual), right=True)] if has_usual else []),
        Column[Compared](f"over {rto}", lambda each: _told(each, lambda line: format_chance(line.chance)), right=True),
        *(
            [Column[Compared]("throughput lost", lambda each: _told(each, _lost), right=True)]
            if any(each.line is not None and each.line.lost is not None for each in found)
            else []
        ),
        Column[Compared]("", lambda each: each.why_not or ("" if each.in_time else "too long")),
    ]  # fmt: skip
    return ReportTable.of(title, found, columns, [])


def _told(each: Compared, of: Callable[[SizeLine], str]) -> str:
    return "–" if each.line is None else of(each.line)


def _usual(line: SizeLine) -> str:
    if line.usual is None:
        return "–"
    return "never" if math.isinf(line.usual.ninety_five_s) else format_duration(line.usual.ninety_five_s)


def _lost(line: SizeLine) -> str:
    return "–" if line.lost is None else line.lost.with_interval()
