"""The oracle: what a recovered server holds, held against what its clients noted."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from redolab.errors import LabError
from redolab.powercut.ledger import (
    Definition,
    Fault,
    Found,
    Ledger,
    LedgerVerdict,
    Seen,
    Transaction,
    faults_of,
    judged,
    read_ledger,
)
from redolab.workloads.data import Defines

_SECOND = 1_000_000_000


def transaction(
    client: int, number: int, sent: float, acknowledged: float | None = None, **others: bool
) -> Transaction:
    return Transaction(
        client=client, number=number, sent=int(sent * _SECOND),
        acknowledged=None if acknowledged is None else int(acknowledged * _SECOND), **others,
    )  # fmt: skip


LEDGER = Ledger(
    [
        transaction(1, 1, 1.0, 1.1),
        transaction(1, 2, 1.2, 1.3),
        transaction(1, 3, 1.4),
        transaction(2, 1, 1.0, 1.05),
        transaction(2, 2, 1.15, 1.25),
        transaction(2, 3, 1.5, 1.6),
    ],
    [Seen(1, 2, int(1.35 * _SECOND))],
    rows_each=3,
)
CUT = int(1.45 * _SECOND)


def verdict(*there: tuple[int, int], balance: int = 0, torn: tuple[int, int] | None = None) -> LedgerVerdict:
    parts = dict.fromkeys(there, 3) | ({torn: 2} if torn else {})
    return judged(LEDGER, CUT, Found(parts, balance, 0))


def test_a_prepared_transaction_must_be_there_or_prepared() -> None:
    prepared = Transaction(client=1, number=1, sent=10, prepared=20)
    ledger = Ledger([prepared, Transaction(client=2, number=1, sent=10, prepared=40)], [], rows_each=3)
    assert judged(ledger, 30, Found({}, 0, 0)).prepared_lost == 1
    assert judged(ledger, 30, Found({}, 0, 0, prepared=frozenset([(1, 1)]))).prepared_lost == 0
    assert judged(ledger, 30, Found({(1, 1): 3}, 0, 0)).prepared_lost == 0
    assert judged(ledger, 15, Found({}, 0, 0)).prepared_lost == 0


def test_prepared_transactions_are_read_from_notes(tmp_path: Path) -> None:
    (tmp_path / "1").write_text("S 1 10\nP 1 20\nA 1 30\nS 2 40\nP 2 50\n")
    (first, second) = read_ledger(tmp_path, 3).transactions
    assert (first.prepared, first.acknowledged) == (20, 30)
    assert (second.prepared, second.acknowledged) == (50, None)


WHOLE = [(1, 1), (1, 2), (2, 1), (2, 2)]


@pytest.mark.parametrize(
    ("there", "more", "expected"),
    [
        (WHOLE, {}, {"acknowledged": 4, "unknown": 1, "seconds_back": 0.0, "lost": 0, "is_whole": True}),
        # A commit without an answer may be there or not.
        ([*WHOLE, (1, 3)], {}, {"lost": 0, "holes": 0, "wrong": 0, "is_whole": True}),
        # Lost at the end is no hole; missing in the middle is one.
        ([(1, 1), (2, 1)], {}, {"lost": 2, "holes": 0, "is_whole": True, "seen_then_lost": 1}),
        ([(1, 2), (2, 1), (2, 2)], {}, {"lost": 1, "holes": 1, "is_whole": False}),
        # Client 2 sent its second at 1.15, after client 1 had its first acknowledged at 1.1.
        ([(2, 1), (2, 2)], {}, {"holes": 1}),
        ([(2, 1)], {}, {"holes": 0}),
        ([(1, 1), (2, 1), (2, 2)], {"torn": (1, 2)}, {"torn": 1, "lost": 0, "is_whole": False}),
        (WHOLE, {"balance": -7}, {"money": 7}),
        # Nobody had sent these before the cut.
        ([*WHOLE, (2, 3)], {}, {"wrong": 1}),
        ([*WHOLE, (9, 1)], {}, {"wrong": 1}),
    ],
)
def test_what_is_there_is_held_against_what_was_acknowledged(
    there: list[tuple[int, int]], more: dict[str, Any], expected: dict[str, float]
) -> None:
    found = verdict(*there, **more)
    assert {name: getattr(found, name) for name in expected} == expected


def test_a_server_has_gone_back_by_the_oldest_commit_that_it_lost() -> None:
    assert verdict((1, 1), (2, 1)).seconds_back == pytest.approx(0.2)


def test_what_was_refused_must_not_be_there() -> None:
    ledger = Ledger([transaction(1, 1, 1.0, refused=True), transaction(1, 2, 1.1, 1.2)], [], 3)
    whole = judged(ledger, CUT, Found({(1, 2): 3}, 0, 0))
    assert faults_of(whole, []) == []
    assert judged(ledger, CUT, Found({(1, 1): 3, (1, 2): 3}, 0, 0)).wrong == 1


def test_a_binary_log_has_what_the_tables_have_or_not() -> None:
    parts = dict.fromkeys([(1, 1), (1, 2), (2, 1), (2, 2)], 3)
    same = judged(LEDGER, CUT, Found(parts, 0, 0, frozenset(parts)))
    assert faults_of(same, []) == []
    behind = judged(LEDGER, CUT, Found(parts, 0, 0, frozenset([(1, 1), (2, 1), (1, 3)])))
    assert (behind.only_in_tables, behind.only_in_binary_log) == (2, 1)
    assert faults_of(behind, []) == [Fault.APART]


def test_what_a_replica_got_before_the_cut_the_server_must_have() -> None:
    got = [Seen(1, 1, int(1.05 * _SECOND)), Seen(1, 2, int(1.28 * _SECOND)), Seen(1, 3, int(1.46 * _SECOND))]
    ledger = dataclasses.replace(LEDGER, replicated=got)
    has_all = judged(ledger, CUT, Found(dict.fromkeys([(1, 1), (1, 2), (2, 1), (2, 2)], 3), 0, 0))
    assert (has_all.only_on_replica, faults_of(has_all, [])) == (0, [])
    # The third came after the cut.
    has_less = judged(ledger, CUT, Found(dict.fromkeys([(1, 1), (2, 1)], 3), 0, 0))
    assert has_less.only_on_replica == 1
    assert Fault.AHEAD in faults_of(has_less, [])


def test_notes_are_read_as_clients_wrote_them(tmp_path: Path) -> None:
    (tmp_path / "1").write_text("S 1 100\nA 1 200\nS 2 300\nF 2 350\nS 3 400\n")
    (tmp_path / "0").write_text("R 1:1 250\n")
    (tmp_path / "replica").write_text("B 1:1 190\n")
    found = read_ledger(tmp_path, 3)
    assert [(each.number, each.acknowledged, each.refused) for each in found.transactions] == [
        (1, 200, False), (2, None, True), (3, None, False),
    ]  # fmt: skip
    assert found.seen == [Seen(1, 1, 250)]
    assert found.replicated == [Seen(1, 1, 190)]
    assert found.acknowledgements == [200]
    (tmp_path / "3").write_text("D 1 100\nE 1 200\nD 2 300\n")
    assert read_ledger(tmp_path, 3).definitions == [Definition(1, 100, 200), Definition(2, 300)]
    (tmp_path / "2").write_text("A 1\n")
    with pytest.raises(LabError):
        read_ledger(tmp_path, 3)


_ROWS = (200, 200, 200, 200)


def defined(cut: float, found: tuple[int, ...] | None) -> LedgerVerdict:
    """A table that was created by 1.1, filled from 1.2 to 1.3, and one of whose partitions is emptied from 1.4 on."""
    times = [(1.0, 1.1), (1.2, 1.3), (1.4, None)]
    definitions = [
        Definition(number, int(sent * _SECOND), None if done is None else int(done * _SECOND))
        for number, (sent, done) in enumerate(times, start=1)
    ]
    ledger = Ledger([], [], 3, definitions, Defines.PARTITIONS)
    return judged(ledger, int(cut * _SECOND), Found({}, 0, 0, None, found))


def test_a_table_is_as_its_last_acknowledged_statement_left_it() -> None:
    assert defined(0.9, None).is_whole
    assert defined(1.15, (0, 0, 0, 0)).is_whole
    assert defined(1.35, _ROWS).is_whole
    assert not defined(1.35, _ROWS).defining


def test_of_a_statement_under_way_either_outcome_is_right_and_nothing_between() -> None:
    for found in (_ROWS, (200, 0, 200, 200)):
        assert defined(1.45, found).is_whole
        assert defined(1.45, found).defining
    half = defined(1.45, (200, 17, 200, 200))
    assert half.misdefined == "200, 17, 200, 200 rows"
    assert not half.is_whole


def test_a_statement_that_is_undone_though_it_was_acknowledged_is_lost_and_no_contradiction() -> None:
    for found, undone in (((0, 0, 0, 0), 1), (None, 2)):
        verdict = defined(1.35, found)
        assert verdict.definitions_lost == undone
        assert verdict.is_whole
        assert faults_of(verdict, ()) == [Fault.LOST]


def test_faults_are_told_the_gravest_first() -> None:
    assert faults_of(None, ()) == [Fault.BROKEN]
    assert faults_of(verdict((1, 1), (1, 2), (2, 1), (2, 2)), ()) == []
    assert faults_of(verdict((1, 2), (2, 1), (2, 2)), ()) == [Fault.BROKEN, Fault.LOST]


def test_a_table_that_cannot_be_read_is_a_contradiction() -> None:
    found = Found({}, 0, 0, None, None, "ledger_defined: Failed to read from the .par file")
    told = judged(Ledger([], [], 3, [Definition(1, 1, 2)], Defines.PARTITIONS), 3, found)
    assert told.misdefined
    assert faults_of(told, ()) == [Fault.BROKEN]
