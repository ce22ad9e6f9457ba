"""Statements that a server may be asked to run, and those that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolab.slowlog.candidates.counting import PURE, SYNTAX, Refused, TableName, countable


@pytest.mark.parametrize(
    ("text", "counting"),
    [
        ("SELECT COUNT(*) FROM t GROUP BY k", "SELECT COUNT(*) FROM t"),
        ("SELECT DISTINCT c FROM t WHERE id BETWEEN 1 AND 9 ORDER BY c", "SELECT COUNT(*) FROM t WHERE id BETWEEN 1 AND 9"),
        ("SELECT k FROM t GROUP BY k HAVING SUM(b) > 3 ORDER BY SUM(b) LIMIT 3", "SELECT COUNT(*) FROM t"),
        ("SELECT k FROM t GROUP BY k WITH ROLLUP", "SELECT COUNT(*) FROM t"),
        ("SELECT SUM(a) FROM t a, u b WHERE a.x = b.x", "SELECT COUNT(*) FROM t AS a, u AS b WHERE a.x = b.x"),
        (
            "SELECT SUM(a) FROM t LEFT JOIN (u, v) ON u.a = t.a LEFT JOIN w USING (b)",
            "SELECT COUNT(*) FROM t LEFT JOIN (u, v) ON u.a = t.a LEFT JOIN w USING (b)",
        ),
        ("SELECT SUM(x) FROM a STRAIGHT_JOIN b NATURAL JOIN c", "SELECT COUNT(*) FROM a STRAIGHT_JOIN b NATURAL JOIN c"),
        ("SELECT HIGH_PRIORITY SQL_NO_CACHE MAX(a) FROM t", "SELECT COUNT(*) FROM t"),
        ("SELECT MAX(a) FROM t FORCE INDEX (k) WHERE b > 1", "SELECT COUNT(*) FROM t FORCE INDEX (k) WHERE b > 1"),
        ("SELECT MAX(a) FROM t PARTITION (p0)", "SELECT COUNT(*) FROM t PARTITION(p0)"),
        ("SELECT MAX(a) FROM (SELECT a FROM t WHERE b = 1) d", "SELECT COUNT(*) FROM (SELECT a FROM t WHERE b = 1) AS d"),
        ("SELECT MAX(a) FROM `t t` WHERE `a b` = 1", "SELECT COUNT(*) FROM `t t` WHERE `a b` = 1"),
        (r"SELECT MAX(a) FROM t WHERE b = 'it\'s'", "SELECT COUNT(*) FROM t WHERE b = 'it''s'"),
        ("SELECT MAX(a) FROM t WHERE DATE(b) = '2012-01-01'", "SELECT COUNT(*) FROM t WHERE DATE(b) = '2012-01-01'"),
        ("SELECT MAX(a) FROM t /* a comment */ WHERE b = 1 # another", "SELECT COUNT(*) FROM t WHERE b = 1"),
        ("SELECT MAX(a) FROM t WHERE b <=> NULL AND NOT c IN (1, 2)", "SELECT COUNT(*) FROM t WHERE b <=> NULL AND NOT c IN (1, 2)"),
        ("SELECT MAX(a) FROM t WHERE b = X'41' COLLATE utf8_bin", "SELECT COUNT(*) FROM t WHERE b = x'41' COLLATE utf8_bin"),
    ],
)  # fmt: skip
def test_the_count_of_the_rows_joined(text: str, counting: str) -> None:
    assert countable(text).counting == counting


def test_the_tables_that_are_read_are_named_once() -> None:
    asked = countable("SELECT MAX(x) FROM t a, t b, d.u, (SELECT x FROM v) c")
    assert asked.tables == (TableName(None, "t"), TableName("d", "u"), TableName(None, "v"))
    assert [str(each) for each in asked.tables] == ["t", "d.u", "v"]


@pytest.mark.parametrize(
    "text",
    [
        *Path(__file__).with_name("refused.sql").read_text().splitlines(),
        "SELECT a FROM t WHERE a IN (" + "1, " * 40_000 + "1)",
        "SELECT a FROM t WHERE " + "(" * 500 + "1" + ")" * 500,
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        countable(text)


def test_a_semicolon_with_nothing_behind_it_is_no_second_statement() -> None:
    assert countable("SELECT a FROM t; ").statement == "SELECT a FROM t"


@pytest.mark.parametrize("word", sorted(SYNTAX - PURE))
def test_a_word_of_the_syntax_is_no_way_to_call_a_function_of_that_name(word: str) -> None:
    for text in (
        f"SELECT {word}(a) FROM t",
        f"SELECT a FROM t WHERE b = {word}(a)",
        f"SELECT a FROM t WHERE {word}(1)",
    ):
        try:
            written = countable(text).statement
        except Refused:
            continue
        assert f" {word}(" not in written.upper()


_WORDS = st.sampled_from(
    [
        *("SELECT", "FROM", "WHERE", "t", "a", "`f`", "(", ")", "(1)", "*", ",", "=", "'x'", "GROUP BY", "INTO", "@x", ":="),
        *("OUTFILE", "FOR UPDATE", "SLEEP(9)", "f(1)", "d.f(1)", ".", ";", "COUNT(*)", "UNION", "LOCK IN SHARE MODE", "AS"),
        *("/*", "*/", "--", "\\", "'", '"', "JOIN", "IN", "NEXTVAL(s)", "PROCEDURE", "ORDER BY", "LIMIT", "1", "INTERVAL"),
    ]
)  # fmt: skip
_FORBIDDEN = (
    "INTO",
    "FOR UPDATE",
    "FOR SHARE",
    "LOCK IN",
    ":=",
    "@",
    "SLEEP(",
    "NEXTVAL(",
    "F(",
    ";",
    "/*",
    "PROCEDURE",
)


@given(st.lists(_WORDS, max_size=14))
def test_whatever_is_let_through_reads_and_does_nothing_else(words: list[str]) -> None:
    try:
        asked = countable("SELECT a FROM t " + " ".join(words))
    except Refused:
        return
    for text in (asked.statement, asked.counting):
        assert text.startswith("SELECT ")
        outside = "".join(text.upper().split("'")[::2])
        assert [each for each in _FORBIDDEN if each in outside and "`" not in outside] == []


@given(st.text(max_size=60))
def test_a_string_stays_the_string_that_it_is(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace("'", "''").replace("\0", "")
    try:
        asked = countable(f"SELECT MAX(a) FROM t WHERE b = '{quoted}'")
    except Refused:
        return
    assert countable(asked.counting).counting == asked.counting
    assert asked.counting.startswith("SELECT COUNT(*) FROM t WHERE b = '")


def test_bytes_that_are_no_text_are_not_asked_about() -> None:
    countable("SELECT SUM(a) FROM t WHERE b = _binary'x'")
    with pytest.raises(Refused):
        countable(b"SELECT SUM(a) FROM t WHERE b = _binary'\xff\xfe'".decode("utf-8", "replace"))
