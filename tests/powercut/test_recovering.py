"""What of the ledger a binary log holds."""

from __future__ import annotations

from redolab.powercut.recovering import logged_whole

_INSERT = "INSERT INTO ledger_entries VALUES (3, {number}, 1, 'x'), (3, {number}, 2, 'x')"


def _transaction(number: int, kind: str = "Annotate_rows") -> list[tuple[object, ...]]:
    return [
        ("binlog.000002", 1, "Gtid", 1, 2, "BEGIN GTID 0-1-7"),
        ("binlog.000002", 2, kind, 1, 3, _INSERT.format(number=number)),
        ("binlog.000002", 3, "Write_rows_v1", 1, 4, "table_id: 18 flags: STMT_END_F"),
        ("binlog.000002", 4, "Xid", 1, 5, "COMMIT /* xid=9 */"),
    ]


def test_transactions_that_are_there_to_their_end_are_logged() -> None:
    assert logged_whole([*_transaction(1), *_transaction(2, "Rows_query")]) == {(3, 1), (3, 2)}


def test_one_that_a_crash_cut_off_commits_nothing() -> None:
    assert logged_whole([*_transaction(1), *_transaction(2)[:-1]]) == {(3, 1)}
    assert logged_whole([*_transaction(2)[:-1], *_transaction(3)]) == {(3, 3)}


def test_without_row_events_a_commit_is_a_statement() -> None:
    whole = [
        ("binlog.000002", 2, "Query", 1, 3, "BEGIN"),
        ("binlog.000002", 2, "Query", 1, 3, f"use `redolab`; {_INSERT.format(number=5)}"),
        ("binlog.000002", 4, "Query", 1, 5, "COMMIT"),
    ]
    assert logged_whole(whole) == {(3, 5)}


def test_a_transaction_of_xa_is_logged_when_it_is_committed() -> None:
    prepared = [(0, 0, "XA_prepare", 0, 0, "XA PREPARE X'332c37',X'',1")]
    assert logged_whole(prepared) == set()
    assert logged_whole([*prepared, (0, 0, "Query", 0, 0, "XA COMMIT X'332c37',X'',1")]) == {(3, 7)}
