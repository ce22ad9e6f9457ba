"""The rule: rows examined for each table joined (B), against the rows that the answer is made of (A)."""

from __future__ import annotations

import math
from enum import StrEnum

import msgspec

PERFECT = 1.0
CANDIDATE = 10.0
"""B/A up to and from which the method has its verdicts (P. Zaitsev; data/published/query-logs.toml, worth_optimising)."""


class Known(StrEnum):
    """How A is known."""

    LOG = "log"
    """Exact: nothing is grouped, so that A is what was sent. Or a bound that settles the verdict."""
    MEASURED = "measured"
    """Counted on a server, as its data is now."""
    ESTIMATED = "estimated"
    """By the statistics of a server's optimiser."""
    UNKNOWN = "unknown"


class Bound(StrEnum):
    """What a number of rows says of A."""

    EXACT = "exact"
    AT_LEAST = "at least"
    AT_MOST = "at most"


class Verdict(StrEnum):
    """Whether a class is worth optimising."""

    PERFECT = "perfect"
    SOME_GAIN = "some gain"
    CANDIDATE = "candidate"
    UNKNOWN = "unknown"


class Rows(msgspec.Struct, frozen=True):
    """A: rows sent once GROUP BY, DISTINCT and aggregates are taken away. None: unknown, for `reason`."""

    count: int | None
    known: Known
    bound: Bound = Bound.EXACT
    reason: str = ""


def unknown(reason: str) -> Rows:
    """An A that is not known, and why."""
    return Rows(None, Known.UNKNOWN, reason=reason)


def examined_per_table(rows_examined: int, tables: int) -> float:
    """B: rows examined for each of the tables whose rows the server counts; a statement without a table counts as one."""
    return rows_examined / max(tables, 1)


def ratio(examined: float, rows: Rows) -> float | None:
    """B/A: 0 where nothing was examined, infinite where A is 0 and something was, None where A is unknown."""
    if rows.count is None:
        return None
    if rows.count == 0:
        return math.inf if examined else 0.0
    return examined / rows.count


def verdict_of(examined: float, rows: Rows) -> Verdict:
    """What B and A say. A bound of A says only what holds for every A within it; an unknown A says nothing."""
    found = ratio(examined, rows)
    if found is None:
        return Verdict.UNKNOWN
    if found <= PERFECT:
        # A larger A makes it only more so, a smaller one may not.
        return Verdict.UNKNOWN if rows.bound is Bound.AT_MOST else Verdict.PERFECT
    if found >= CANDIDATE:
        return Verdict.UNKNOWN if rows.bound is Bound.AT_LEAST else Verdict.CANDIDATE
    return Verdict.SOME_GAIN if rows.bound is Bound.EXACT else Verdict.UNKNOWN
