"""Plans of a statement by EXPLAIN: tables whose rows the server counts, and the rows that it expects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

_CONST = frozenset({"const", "system"})
_OUTER = frozenset({"SIMPLE", "PRIMARY"})


class TableRead(msgspec.Struct, frozen=True):
    """A line of EXPLAIN.

    `access`: its type (`ref`, `ALL`, …), empty if no table is read; `rows`: expected rows of the table, each time it
    is read; `filtered`: percent of them that the optimiser expects to keep; `extra`: further remarks.
    """

    part: str
    table: str
    access: str
    rows: int
    filtered: float
    extra: str = ""


def plan_of(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[TableRead, ...]:
    """Parse the lines of an EXPLAIN in its traditional form."""
    return tuple(_line(dict(zip(headings, row, strict=True))) for row in rows)


def counted_tables(plan: Sequence[TableRead]) -> int:
    """Return the number of tables whose rows count as examined.

    A table that is read by const or system is read during optimisation, and its row is not counted. If all tables
    are, one row is counted for all of them. MySQL 5.5 to 9.7 and MariaDB 10.2 to 11.8 do so
    (tests/slowlog/candidates/counted.json). A table that the optimiser has removed has no line.
    """
    read = [each for each in plan if each.access and not each.table.startswith("<")]
    return max(1, sum(each.access not in _CONST for each in read))


def const_tables(plan: Sequence[TableRead]) -> int:
    """Return the number of tables that are read by const or system."""
    return sum(each.access in _CONST and not each.table.startswith("<") for each in plan)


def compares_uncounted(plan: Sequence[TableRead]) -> bool:
    """Return True if a join buffer is used: MySQL before 5.7 and MariaDB do not count the rows compared there."""
    return any("join buffer" in each.extra for each in plan)


def estimated_rows(plan: Sequence[TableRead]) -> int:
    """Return the rows that the optimiser expects of the join: the product over its tables of rows × filtered."""
    joined = [each for each in plan if each.part in _OUTER]
    if any(not each.access for each in joined):
        # "Impossible WHERE" and its like: it knows that there is none.
        return 0
    return round(math.prod(each.rows * each.filtered / 100 for each in joined))


def _line(cells: Mapping[str, Any]) -> TableRead:
    return TableRead(
        part=str(cells.get("select_type") or ""),
        table=str(cells.get("table") or ""),
        access=str(cells.get("type") or ""),
        rows=int(cells.get("rows") or 0),
        filtered=float(100.0 if cells.get("filtered") is None else cells["filtered"]),
        extra=str(cells.get("Extra") or ""),
    )
