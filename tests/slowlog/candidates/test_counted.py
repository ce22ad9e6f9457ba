"""The rules for const tables agree with the counts of ten servers."""

from __future__ import annotations

import pytest

from redolab.project import PROJECT
from redolab.slowlog.candidates.explain import TableRead, counted_tables
from tests.slowlog.candidates.examples import ROWS, read_counted, tables

SEEN = read_counted()


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize(
    ("case", "tables"),
    [("const", 1), ("const, const", 1), ("const, scan", 1), ("system table", 1), ("const, ref", 1), ("ref, eq_ref", 2)],
)
def test_a_const_access_is_counted_only_where_there_is_nothing_else(name: str, case: str, tables: int) -> None:
    seen = SEEN[name].statements[case]
    assert counted_tables([TableRead("SIMPLE", "t", access, 1, 100.0) for access in seen.access]) == tables
    alone = all(access in {"const", "system"} for access in seen.access)
    scanned = ROWS if "ALL" in seen.access else sum(access not in {"const", "system"} for access in seen.access)
    assert seen.rows_examined == (1 if alone else scanned)


def test_the_documentation_has_what_they_count() -> None:
    shown = (PROJECT.root / "docs/query-logs/candidates.md").read_text()
    assert all(table in shown for table in tables(SEEN).split("\n\n"))
