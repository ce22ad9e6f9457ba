"""`redolab size --compare`: the sizes that published rules set for the same server, and the recovery time of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from redolab.predict.advising import CrashTime, SizeLine, Sizing
from redolab.predict.log_size import Limits
from redolab.predict.rules import RuleInput, ServerFacts, published_rules, size_by
from redolab.predict.size_in_words import held_in_words
from redolab.report.intervals import RelativeChange
from redolab.report.table import Column, ReportTable, known
from redolab.units import format_chance, format_duration, format_duration_or_never, format_size

_MISSING = {
    RuleInput.CPUS: "--cpus tells it",
    RuleInput.MEMORY: "--memory tells it",
    RuleInput.MEAN: "no mean of Innodb_os_log_written",
    RuleInput.HOURS: "no week of Innodb_os_log_written in a Prometheus",
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


def compared(sizing: Sizing, facts: ServerFacts, present: int | None = None) -> list[Compared]:
    """Return the sizes by this tool, by each rule for such a server, and by the present setting (bytes)."""
    version, family = sizing.model.dialect.version, sizing.model.dialect.family
    inputs = replace(facts, holds_an_hour=sizing.advice.smallest_for_hour)
    rules = [rule for rule in published_rules() if rule.is_for(family, version)]
    asked = [
        ("redolab", sizing.advice.size, "", "", "no size recovers in time"),
        *((rule.name, size_by(rule, inputs), rule.source, rule.version, _MISSING.get(rule.by, "")) for rule in rules),
        *([("as it is", present, "", "", "")] if present is not None else []),
    ]
    found = []
    for rule, size, source, at, missing in asked:
        line = sizing.line(size)
        why_not = missing if size is None else "" if line is not None else "no such log on this server"
        in_time = None if line is None else line.chance < sizing.limits.chance
        found.append(
            Compared(rule=rule, size=size, line=line, in_time=in_time, source=source, version=at, why_not=why_not)
        )
    return found


def compared_table(found: Sequence[Compared], limits: Limits, title: str, crash_time: CrashTime) -> ReportTable:
    """Return the sizes by the rules as a table."""
    rto = format_duration(limits.rto)
    lines = [each.line for each in found if each.line is not None]
    has_usual = crash_time is CrashTime.ANY and any(line.usual is not None for line in lines)
    columns = [
        Column[Compared]("by", lambda each: each.rule),
        Column[Compared]("redo log", lambda each: known(each.size, format_size), right=True),
        Column[Compared]("of peak redo", lambda each: known(each.line, lambda line: held_in_words(line.minutes_held)), right=True),
        Column[Compared]("at worst, typical", lambda each: known(each.line, lambda line: format_duration(line.recovery_s)), right=True),
        Column[Compared]("at worst, 95 %", lambda each: known(each.line, lambda line: format_duration(line.ninety.high_s)), right=True),
        *([Column[Compared]("at random, 95 %", lambda each: known(each.line, _random), right=True)] if has_usual else []),
        Column[Compared](f"over {rto}", lambda each: known(each.line, lambda line: format_chance(line.chance)), right=True),
        *(
            [Column[Compared]("throughput lost", lambda each: known(each.line, _lost), right=True)]
            if any(line.lost is not None for line in lines)
            else []
        ),
        Column[Compared]("", lambda each: each.why_not or ("" if each.in_time else "too long")),
    ]  # fmt: skip
    return ReportTable.of(title, found, columns, [])


def _random(line: SizeLine) -> str:
    seconds = None if line.usual is None else line.usual.ninety_five_s
    return known(seconds, format_duration_or_never)


def _lost(line: SizeLine) -> str:
    return known(line.lost, RelativeChange.with_interval)
