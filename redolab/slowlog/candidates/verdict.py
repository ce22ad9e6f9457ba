"""The rule: rows examined for each table joined (B), against the rows that the answer is made of (A)."""

from __future__ import annotations

import math
from enum import StrEnum

import msgspec

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


class Bound(StrEnum):
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
    bound: Bound = Bound.EXACT
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
    found = ratio(examined, rows)
    if found is None:
        return Verdict.UNKNOWN
    if found <= PERFECT:
        # A larger A confirms it; a smaller one may not.
        return Verdict.UNKNOWN if rows.bound is Bound.AT_MOST else Verdict.PERFECT
    if found >= CANDIDATE:
        return Verdict.UNKNOWN if rows.bound is Bound.AT_LEAST else Verdict.CANDIDATE
    return Verdict.SOME_GAIN if rows.bound is Bound.EXACT else Verdict.UNKNOWN
