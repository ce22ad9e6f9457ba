"""Shape of a statement, as far as A depends on it: the tables it joins, and the grouping of their rows."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import StrEnum

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

DIALECT = "mysql"
_LONGEST = 256 * 1024
"""Characters of a statement that is parsed: a second or two of work. What is longer is a list of values."""
_ANONYMOUS_AGGREGATES = frozenset({"JSON_ARRAYAGG", "JSON_OBJECTAGG", "ST_COLLECT", "BIT_AND", "BIT_OR", "BIT_XOR"})
"""Aggregates that the parser may not know by a class of their own."""

# sqlglot warns of each statement that it cannot parse; the table says so already.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


class Unreadable(Exception):
    """The statement is not a single SELECT that the method covers; the text says why."""


class Grouping(StrEnum):
    """Grouping of the joined rows before they are sent."""

    NONE = "none"
    ONE_ROW = "aggregates without GROUP BY"
    GROUPS = "GROUP BY or DISTINCT"


@dataclass(frozen=True, slots=True)
class Shape:
    """A SELECT that the method can judge.

    `tables`: number of joined tables, each counted as often as it is named; `limited`: the LIMIT may spare the server
    some groups, so that all rows of all groups are more than the answer needs; `supergroups`: WITH ROLLUP sends more
    rows than there are groups.
    """

    tables: int
    grouping: Grouping
    limited: bool = False
    supergroups: bool = False


def parse(text: str) -> exp.Select:
    """Return the single SELECT in a text. Raises `Unreadable`."""
    if len(text) > _LONGEST:
        raise Unreadable(f"longer than {_LONGEST // 1024} KiB")
    try:
        statements = [each for each in sqlglot.parse(text, dialect=DIALECT) if each is not None]
    except (SqlglotError, RecursionError):
        raise Unreadable("the parser does not understand it") from None
    if len(statements) != 1:
        raise Unreadable("not one statement")
    (statement,) = statements
    while isinstance(statement, exp.Subquery) and not {name for name, value in statement.args.items() if value} - {
        "this"
    }:
        statement = statement.this
    if isinstance(statement, exp.SetOperation):
        raise Unreadable("UNION: servers count the rows of its temporary table differently, some none at all")
    if not isinstance(statement, exp.Select):
        raise Unreadable("not a SELECT")
    return statement


def shape_of(select: exp.Select) -> Shape:
    """Return the shape of a SELECT. Raises `Unreadable` if the method does not define A or B for it."""
    _check_parts(select)
    nested = [each for each in select.find_all(exp.Select) if each is not select]
    for each in nested:
        if not _is_derived(each):
            raise Unreadable("a subquery: its rows are examined too, and A is not defined")
        if not _is_plain(each):
            raise Unreadable("a derived table that groups, sorts or limits: its rows are examined too")
    grouping = _grouping(select)
    group = select.args.get("group")
    return Shape(
        tables=len(tables_of(select)),
        grouping=grouping,
        limited=grouping is Grouping.GROUPS and select.args.get("limit") is not None and not _needs_all_groups(select),
        supergroups=group is not None and any(group.args.get(each) for each in ("rollup", "cube", "grouping_sets")),
    )


def tables_of(select: exp.Select) -> list[exp.Table]:
    """Return the tables that a SELECT names, those of its derived tables included."""
    return [table for table in select.find_all(exp.Table) if table.db or table.name.upper() != "DUAL"]


def _check_parts(select: exp.Select) -> None:
    if select.find(exp.With):
        raise Unreadable("a common table expression: how often its rows are examined depends on the server")
    if select.find(exp.SetOperation):
        raise Unreadable("UNION: servers count the rows of its temporary table differently, some none at all")
    if select.find(exp.Into):
        raise Unreadable("INTO: what it makes is not sent")
    if any(each.name.upper() == "SQL_CALC_FOUND_ROWS" for each in select.args.get("operation_modifiers") or ()):
        raise Unreadable("SQL_CALC_FOUND_ROWS: more rows are found than sent")
    if select.find(exp.JSONTable) or any(not isinstance(each.this, exp.Identifier) for each in tables_of(select)):
        raise Unreadable("a table function")


def _is_derived(select: exp.Select) -> bool:
    parent = select.parent
    return isinstance(parent, exp.Subquery) and isinstance(parent.parent, exp.From | exp.Join)


def _is_plain(select: exp.Select) -> bool:
    holds = any(
        select.args.get(each) for each in ("group", "distinct", "having", "limit", "offset", "order", "windows")
    )
    return not holds and _grouping(select) is Grouping.NONE and select.find(exp.Window) is None


def _grouping(select: exp.Select) -> Grouping:
    if select.args.get("group"):
        return Grouping.GROUPS
    having, order = select.args.get("having"), select.args.get("order")
    if any(_has_aggregate(each) for each in (*select.expressions, having, order) if each is not None):
        return Grouping.ONE_ROW
    return Grouping.GROUPS if select.args.get("distinct") else Grouping.NONE


def _has_aggregate(expression: exp.Expr) -> bool:
    return any(
        _is_aggregate_function(node) and not isinstance(node.parent, exp.Window)
        for node in expression.walk(prune=lambda each: isinstance(each, exp.Select))
    )


def _is_aggregate_function(node: exp.Expr) -> bool:
    """Return True if the node itself is an aggregate function."""
    if isinstance(node, exp.Anonymous):
        return node.name.upper() in _ANONYMOUS_AGGREGATES
    # MySQL's ANY_VALUE() only silences ONLY_FULL_GROUP_BY.
    return isinstance(node, exp.AggFunc) and not isinstance(node, exp.AnyValue)


def _needs_all_groups(select: exp.Select) -> bool:
    """Return True if the LIMIT needs complete groups: an aggregate sorts or selects them."""
    order = select.args.get("order")
    if select.args.get("having"):
        return True
    if order is None:
        return False
    aggregated = {each.alias for each in select.expressions if isinstance(each, exp.Alias) and _has_aggregate(each)}
    numbers = {str(n) for n, each in enumerate(select.expressions, 1) if _has_aggregate(each)}
    first = order.expressions[0].this
    return (
        _has_aggregate(first) or (isinstance(first, exp.Column) and first.name in aggregated) or first.name in numbers
    )
