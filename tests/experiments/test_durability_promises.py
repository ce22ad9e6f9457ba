"""Promises that manuals make of a setting, which states break them, and what a plan of power cuts is."""

from __future__ import annotations

import pytest

from experiments.durability.experiment import Durability, Recording
from experiments.durability.promises import findings, promised
from redolab.crash.records.recovery import Outcome
from redolab.powercut.cut_verdict import CutVerdict
from redolab.powercut.cuts import Cuts, CutTime
from redolab.powercut.ledger import LedgerVerdict
from redolab.powercut.states import PowerCut, Survivors
from redolab.runs.factors import read_factors


def _found(trx_commit: int, sync_binlog: int | None, verdict: LedgerVerdict, cuts: Cuts = Cuts.SAMPLED) -> list[str]:
    """Return the findings of one state."""
    group = Recording(
        server="mariadb-11.8", trx_commit=trx_commit, sync_binlog=sync_binlog, variation="plain", recording=1
    )
    cut = CutVerdict(
        moment=CutTime.AT_RANDOM,
        seconds=1.0,
        cut=PowerCut(place=1, survivors=Survivors.NONE),
        hash="",
        outcome=Outcome.READY,
        ledger=verdict,
    )
    return findings(group, cuts, [cut])


@pytest.mark.parametrize(
    ("trx_commit", "sync_binlog", "variation", "is_promised"),
    [
        (1, None, "plain", True),
        (1, 1, "plain", True),
        (1, 0, "plain", False),
        (3, 0, "plain", True),
        (2, 1, "plain", False),
        (1, None, "ignores-flushes", False),
        # Of runs of the past.
        (1, None, "machine-unsafe", False),
        (1, None, "encrypted", True),
    ],
)
def test_what_is_promised(trx_commit: int, sync_binlog: int | None, variation: str, is_promised: bool) -> None:
    assert bool(promised(trx_commit, sync_binlog, variation)) is is_promised


def test_with_3_the_tables_are_promised_and_not_the_binary_log() -> None:
    apart, lost = LedgerVerdict(acknowledged=5, only_in_tables=1), LedgerVerdict(acknowledged=5, lost=1)
    assert not _found(3, 0, apart)
    assert _found(3, 1, apart)
    assert _found(3, 0, lost)
    assert not _found(1, 0, lost)


def test_a_crash_of_the_server_alone_loses_nothing_that_is_in_the_page_cache() -> None:
    lost, holes = LedgerVerdict(acknowledged=5, lost=1), LedgerVerdict(acknowledged=5, holes=1)
    assert _found(2, 0, lost, Cuts.KILLED)
    assert not _found(2, 0, lost)
    assert not _found(0, 0, lost, Cuts.KILLED)
    assert _found(0, 0, holes)


def test_settings_are_combined_and_variations_are_of_the_first_of_each() -> None:
    asked = {"server": "mysql-9", "trx_commit": "1,2", "binary_log": "off,1", "variation": "ext4,plain"}
    cells = Durability.cells(read_factors(Durability.factors_type, {**asked, "recordings": "1", "states": "30"}))
    assert [(each.trx_commit, each.sync_binlog, each.variation) for each in cells] == [
        (1, None, "plain"),
        (1, 1, "plain"),
        (2, None, "plain"),
        (2, 1, "plain"),
        (1, None, "ext4"),
    ]
    (batches,) = {tuple(each) for each in cells.values()}
    assert [(each.cuts, each.count, each.batch) for each in batches] == [
        (Cuts.SAMPLED, 10, 1),
        (Cuts.SAMPLED, 5, 2),
        (Cuts.SEARCHED, 10, 1),
        (Cuts.SEARCHED, 5, 2),
        (Cuts.KILLED, 1, 1),
    ]
