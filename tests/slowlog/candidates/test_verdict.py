"""The rule, on the source's figures and at its limits."""

from __future__ import annotations

import math
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolab.project import PROJECT
from redolab.slowlog.candidates.deciding import (
    CANDIDATE,
    PERFECT,
    Known,
    Rows,
    RowsBound,
    Verdict,
    examined_per_table,
    ratio,
    unknown,
    verdict_of,
)

MILLIONS = 10_000_000
PUBLISHED = tomllib.loads((PROJECT.published / "query-logs.toml").read_text())["worth_optimising"]


def exactly(count: int) -> Rows:
    return Rows(count, Known.LOG)


def test_the_limits_are_the_published_ones() -> None:
    assert (PUBLISHED["perfect"], PUBLISHED["candidate"]) == (PERFECT, CANDIDATE)


@pytest.mark.parametrize(
    ("example", "verdict"),
    list(zip(PUBLISHED["example"], [Verdict.CANDIDATE, *[Verdict.PERFECT] * 4], strict=True)),
)
def test_the_published_examples(example: dict[str, Any], verdict: Verdict) -> None:
    tables = len(example.get("access", "").split(", "))
    rows = exactly(example.get("rows_without_aggregates", example["rows_sent"]))
    assert verdict_of(examined_per_table(example["rows_examined"], tables), rows) is verdict


@pytest.mark.parametrize(
    ("examined", "rows", "verdict"),
    [
        (0, exactly(0), Verdict.PERFECT),
        (1, exactly(0), Verdict.CANDIDATE),
        (1, exactly(1), Verdict.PERFECT),
        (1.5, exactly(1), Verdict.SOME_GAIN),
        (9.99, exactly(1), Verdict.SOME_GAIN),
        (10, exactly(1), Verdict.CANDIDATE),
        (5, Rows(5, Known.LOG, RowsBound.AT_LEAST), Verdict.PERFECT),
        (6, Rows(5, Known.LOG, RowsBound.AT_LEAST), Verdict.UNKNOWN),
        (1000, Rows(5, Known.LOG, RowsBound.AT_LEAST), Verdict.UNKNOWN),
        (1000, Rows(5, Known.MEASURED, RowsBound.AT_MOST), Verdict.CANDIDATE),
        (6, Rows(5, Known.MEASURED, RowsBound.AT_MOST), Verdict.UNKNOWN),
        (1, Rows(5, Known.MEASURED, RowsBound.AT_MOST), Verdict.UNKNOWN),
        (0, unknown("for a test"), Verdict.UNKNOWN),
        (MILLIONS, unknown("for a test"), Verdict.UNKNOWN),
    ],
)
def test_between_and_at_the_limits(examined: float, rows: Rows, verdict: Verdict) -> None:
    assert verdict_of(examined, rows) is verdict


def test_a_ratio_to_nothing() -> None:
    assert ratio(0, exactly(0)) == 0
    assert ratio(3, exactly(0)) == math.inf
    assert ratio(3, unknown("for a test")) is None


@given(
    st.floats(0, 1e9, allow_nan=False),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.sampled_from(list(RowsBound)[1:]),
)
def test_what_a_bound_says_holds_for_every_value_within_it(
    examined: float, count: int, other: int, bound: RowsBound
) -> None:
    said = verdict_of(examined, Rows(count, Known.LOG, bound))
    actual = count + other if bound is RowsBound.AT_LEAST else max(0, count - other)
    assert said in {Verdict.UNKNOWN, verdict_of(examined, exactly(actual))}
