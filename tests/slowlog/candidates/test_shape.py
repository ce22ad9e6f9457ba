"""Shapes of statements, as far as A depends on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.slowlog.candidates.deciding import Known, Rows, RowsBound, rows_by_log
from redolab.slowlog.candidates.shape import Grouping, Shape, Unreadable, parse, shape_of


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("SELECT a FROM t", Shape(1, Grouping.NONE)),
        ("select a from t where b = 'count(*)' -- group by", Shape(1, Grouping.NONE)),
        ("SELECT * FROM t, u, v", Shape(3, Grouping.NONE)),
        ("SELECT * FROM t a JOIN t b USING (id) LEFT JOIN u ON u.x = a.x", Shape(3, Grouping.NONE)),
        ("SELECT * FROM t LEFT JOIN (u, v) ON u.a = t.a", Shape(3, Grouping.NONE)),
        ("SELECT * FROM a NATURAL JOIN b STRAIGHT_JOIN c", Shape(3, Grouping.NONE)),
        ("SELECT a FROM t ORDER BY b LIMIT 5, 10", Shape(1, Grouping.NONE)),
        ("SELECT a FROM t FOR UPDATE", Shape(1, Grouping.NONE)),
        ("(SELECT a FROM t)", Shape(1, Grouping.NONE)),
        ("SELECT a FROM t HAVING a > 5", Shape(1, Grouping.NONE)),
        ("SELECT 1", Shape(0, Grouping.NONE)),
        ("SELECT 1 FROM DUAL", Shape(0, Grouping.NONE)),
        ("SELECT ANY_VALUE(a) FROM t", Shape(1, Grouping.NONE)),
        ("SELECT a, COUNT(*) OVER (PARTITION BY b) FROM t", Shape(1, Grouping.NONE)),
        ("SELECT a, ROW_NUMBER() OVER (ORDER BY b) FROM t", Shape(1, Grouping.NONE)),
        ("SELECT d.a FROM (SELECT a FROM t WHERE b = 1) d JOIN u USING (a)", Shape(2, Grouping.NONE)),
        ("SELECT COUNT(*) FROM t", Shape(1, Grouping.ONE_ROW)),
        ("SELECT 1 + SUM(a) / 2 FROM t", Shape(1, Grouping.ONE_ROW)),
        ("SELECT IF(MAX(a) > 1, 'x', 'y') FROM t LIMIT 1", Shape(1, Grouping.ONE_ROW)),
        ("SELECT GROUP_CONCAT(DISTINCT a ORDER BY b SEPARATOR ',') FROM t", Shape(1, Grouping.ONE_ROW)),
        ("SELECT JSON_ARRAYAGG(a) FROM t", Shape(1, Grouping.ONE_ROW)),
        ("SELECT BIT_OR(a) FROM t", Shape(1, Grouping.ONE_ROW)),
        ("SELECT STD(a), VARIANCE(a) FROM t", Shape(1, Grouping.ONE_ROW)),
        ("SELECT DISTINCT COUNT(*) FROM t", Shape(1, Grouping.ONE_ROW)),
        ("SELECT 1 FROM t HAVING COUNT(*) > 1", Shape(1, Grouping.ONE_ROW)),
        ("SELECT COUNT(*) FROM (SELECT a FROM t) d", Shape(1, Grouping.ONE_ROW)),
        ("SELECT DISTINCT a FROM t", Shape(1, Grouping.GROUPS)),
        ("SELECT a FROM t GROUP BY a", Shape(1, Grouping.GROUPS)),
        ("SELECT a, COUNT(*) FROM t JOIN u USING (b) GROUP BY 1 HAVING COUNT(*) > 2", Shape(2, Grouping.GROUPS)),
        ("SELECT a FROM t GROUP BY a WITH ROLLUP", Shape(1, Grouping.GROUPS, supergroups=True)),
        ("SELECT a FROM t GROUP BY a LIMIT 3", Shape(1, Grouping.GROUPS, limited=True)),
        ("SELECT DISTINCT a FROM t ORDER BY a LIMIT 3", Shape(1, Grouping.GROUPS, limited=True)),
        ("SELECT a FROM t GROUP BY a ORDER BY COUNT(*) DESC LIMIT 3", Shape(1, Grouping.GROUPS)),
        ("SELECT a, SUM(b) AS s FROM t GROUP BY a ORDER BY s LIMIT 3", Shape(1, Grouping.GROUPS)),
        ("SELECT a, SUM(b) FROM t GROUP BY a ORDER BY 2 LIMIT 3", Shape(1, Grouping.GROUPS)),
        ("SELECT a, SUM(b) FROM t GROUP BY a ORDER BY 1 LIMIT 3", Shape(1, Grouping.GROUPS, limited=True)),
        ("SELECT a, SUM(b) FROM t GROUP BY a ORDER BY a, 2 LIMIT 3", Shape(1, Grouping.GROUPS, limited=True)),
    ],
)
def test_a_statement_that_can_be_judged(text: str, shape: Shape) -> None:
    assert shape_of(parse(text)) == shape


@pytest.mark.parametrize("line", Path(__file__).with_name("unreadable.txt").read_text().splitlines())
def test_a_statement_that_cannot_be_judged_has_its_reason(line: str) -> None:
    text, reason = line.split("\t")
    with pytest.raises(Unreadable) as unreadable:
        shape_of(parse(text))
    assert str(unreadable.value) == reason


@pytest.mark.parametrize("text", ["", "SELECT " + "1, " * 100_000 + "1", "SELECT " + "(" * 50_000 + "1"])
def test_an_empty_or_huge_text_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT a FROM t", Rows(7, Known.LOG)),
        ("SELECT DISTINCT a FROM t", Rows(7, Known.LOG, RowsBound.AT_LEAST)),
        ("SELECT a FROM t GROUP BY a", Rows(7, Known.LOG, RowsBound.AT_LEAST)),
        ("SELECT a FROM t GROUP BY a WITH ROLLUP", Rows(0, Known.LOG, RowsBound.AT_LEAST)),
        ("SELECT COUNT(*) FROM t", Rows(0, Known.LOG, RowsBound.AT_LEAST)),
    ],
)
def test_what_the_log_alone_tells(text: str, rows: Rows) -> None:
    assert rows_by_log(shape_of(parse(text)), 7) == rows
