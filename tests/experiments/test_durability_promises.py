"""What manuals promise of a setting, and which states break it."""

from __future__ import annotations

import pytest

from experiments.durability.cells import Cell
from experiments.durability.promises import findings, promise_of
from experiments.durability.trial import Cuts, CutVerdict, DurabilityTrial
from redolab.powercut.cuts import Moment
from redolab.powercut.ledger import LedgerVerdict
from redolab.powercut.states import PowerCut, Survivors
from redolab.records.recovery import Outcome


def _cell(trx_commit: int, sync_binlog: int | None, variation: str = "plain") -> Cell:
    return Cell(server="mariadb-11.8", trx_commit=trx_commit, sync_binlog=sync_binlog, variation=variation)


def _trial(cell: Cell, verdict: LedgerVerdict) -> DurabilityTrial:
    cut = CutVerdict(
        moment=Moment.AT_RANDOM,
        seconds=1.0,
        cut=PowerCut(place=1, survivors=Survivors.NONE),
        hash="",
        outcome=Outcome.READY,
        ledger=verdict,
    )
    return DurabilityTrial(
        cell=cell, version="11.8.9", recording=1, cuts=Cuts.SAMPLED, recovered_s=1.0, verdicts=(cut,)
    )


@pytest.mark.parametrize(
    ("cell", "promised"),
    [
        (_cell(1, None), True),
        (_cell(1, 1), True),
        (_cell(1, 0), False),
        (_cell(3, 0), True),
        (_cell(2, 1), False),
        (_cell(1, None, "ignores-flushes"), False),
    ],
)
def test_what_is_promised(cell: Cell, promised: bool) -> None:
    assert (promise_of(cell) is not None) is promised


def test_with_3_the_tables_are_promised_and_not_the_binary_log() -> None:
    apart, lost = LedgerVerdict(acknowledged=5, only_in_tables=1), LedgerVerdict(acknowledged=5, lost=1)
    assert not findings(_trial(_cell(3, 0), apart))
    assert findings(_trial(_cell(3, 1), apart))
    assert findings(_trial(_cell(3, 0), lost))
    assert not findings(_trial(_cell(1, 0), lost))
