"""What ten servers were seen to count, and that the rules follow from it."""

from __future__ import annotations

import pytest

from redolab.querylogs.worth.plan import TableRead, counted_tables
from redolab.servers.catalogue import server_catalogue
from tests.querylogs.worth.examples import OTHERS, ROWS, SOURCE, Counted
from tests.querylogs.worth.on_all_servers import read_counted

SEEN = read_counted()


def test_every_server_of_the_catalogue_was_seen() -> None:
    assert list(SEEN) == server_catalogue().names()
    assert all(list(server.statements) == [*SOURCE, *OTHERS] for server in SEEN.values())


@pytest.mark.parametrize("name", SEEN)
def test_all_count_the_examples_as_the_source_has_them(name: str) -> None:
    seen = [SEEN[name].statements[case] for case in SOURCE]
    assert [(each.rows_sent, each.rows_examined) for each in seen] == [(0, ROWS), (0, 0), (1, 1), (1, 2), (2, ROWS)]


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


def test_why_unions_and_groups_within_have_no_verdict() -> None:
    def examined(case: str) -> dict[str, int]:
        counted: dict[str, Counted] = {name: server.statements[case] for name, server in SEEN.items()}
        return {name: each.rows_examined for name, each in counted.items()}

    assert examined("union all")["mariadb-10.5"] == 0
    assert examined("union all")["mysql-5.5"] == 3 * (ROWS + 1)
    assert examined("grouped derived table")["mysql-9"] == 2
    assert examined("grouped derived table")["mysql-8.0"] == ROWS + 2
