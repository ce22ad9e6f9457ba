"""What manuals promise of a setting, and which verdicts break it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from redolab.powercut.ledger import Fault
from redolab.runs.schema import Finding

from .cells import VARIATIONS, Cell
from .trial import Cuts, CutVerdict, DurabilityTrial

OLD = 3
"""Of MariaDB: as before it committed in groups."""
_SYNCS = (1, OLD)
"""Values of innodb_flush_log_at_trx_commit with which every commit is synced."""


class Promise(Enum):
    """That no acknowledged commit is lost."""

    COMMITS = "in the tables"
    """With 3, InnoDB syncs at commit whatever sync_binlog is (MariaDB Knowledge Base, Binary Log Group Commit and InnoDB Flushing
    Performance)."""
    COMMITS_AND_BINARY_LOG = "in the tables, and in the binary log where that is on"
    """The logs are written and flushed to disk at each transaction commit; with the binary log, also sync_binlog=1 is needed (MySQL
    8.4 Reference Manual, innodb_flush_log_at_trx_commit and sync_binlog; MariaDB's has the same)."""


def promise_of(cell: Cell) -> Promise | None:
    """What is promised of acknowledged commits; None where nothing is."""
    if cell.trx_commit not in _SYNCS or not VARIATIONS[cell.variation].obeys:
        return None
    if cell.sync_binlog in (None, 1):
        return Promise.COMMITS_AND_BINARY_LOG
    return Promise.COMMITS if cell.trx_commit == OLD else None


def unexpected(cell: Cell, verdict: CutVerdict) -> list[Fault]:
    """What of that no setting of the server accounts for: that something is lost is what other values than these are for."""
    syncs = cell.trx_commit in _SYNCS
    return [fault for fault in verdict.faults if syncs or fault is Fault.BROKEN]


def findings(trial: DurabilityTrial) -> Sequence[Finding]:
    """What breaks a promise, or contradicts itself, a sentence each: one of a kind for all states of a step."""
    cell = trial.cell
    promise = promise_of(cell)
    promised = promise is not None or (trial.cuts is Cuts.KILLED and cell.trx_commit in (*_SYNCS, 2))
    found = []
    for fault in Fault:
        verdicts = [each for each in trial.verdicts if fault in each.faults]
        of_tables = fault is not Fault.APART or promise is not Promise.COMMITS
        if verdicts and ((promised and of_tables) or fault is Fault.BROKEN):
            found.append(Finding(what=sentence(trial, fault, verdicts)))
    return found


def sentence(trial: DurabilityTrial, fault: Fault, verdicts: Sequence[CutVerdict]) -> str:
    """Which cuts did what, and how the first of them is made again."""
    cell, first = trial.cell, verdicts[0]
    what = "SIGKILL" if trial.cuts is Cuts.KILLED else f"{len(verdicts)} power cuts"
    return (
        f"{what} of {cell.server} ({cell.in_words}) {fault}, the first {first.moment} at {first.seconds:.3f} s "
        f"(survivors {first.cut.survivors}, seed {first.cut.seed})"
    )
