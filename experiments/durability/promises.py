"""What manuals promise of a setting, and which verdicts break it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redolab.runs.schema import Finding

from .cells import VARIATIONS, Cell
from .trial import CutVerdict, DurabilityTrial


@dataclass(frozen=True, slots=True)
class Promise:
    """That no acknowledged commit is lost, with who says so."""

    sentence: str
    source: str


_FULL = Promise(
    "logs are written and flushed to disk at each transaction commit",
    "MySQL 8.4 Reference Manual, innodb_flush_log_at_trx_commit=1; MariaDB's has the same",
)
_WITH_BINARY_LOG = Promise(
    "for durability with the binary log, sync_binlog=1 and innodb_flush_log_at_trx_commit=1",
    "MySQL 8.4 Reference Manual, innodb_flush_log_at_trx_commit and sync_binlog",
)
WHOLE = "InnoDB comes up, and transactions are there whole, in their order, and none that was never sent"
"""What holds with every setting: what is lost is the end."""


def promise_of(cell: Cell) -> Promise | None:
    """What is promised of acknowledged commits; None where nothing is."""
    if cell.trx_commit not in (1, 3) or not VARIATIONS[cell.variation].obeys:
        return None
    if cell.sync_binlog is None:
        return _FULL
    return _WITH_BINARY_LOG if cell.sync_binlog == 1 else None


def findings(trial: DurabilityTrial) -> Sequence[Finding]:
    """What breaks a promise, or contradicts itself, a sentence each: one of a kind for all states of a step."""
    cell, promised = trial.cell, promise_of(trial.cell)
    lost = [each for each in trial.verdicts if promised is not None and each.is_lost]
    broken = [each for each in trial.verdicts if each.is_broken]
    apart = [each for each in trial.verdicts if promised is not None and each.is_apart]
    return [
        *_sentence(cell, lost, "lost acknowledged commits"),
        *_sentence(cell, broken, "left what contradicts itself"),
        *_sentence(cell, apart, "left other transactions in the binary log than in the tables"),
    ]


def _sentence(cell: Cell, verdicts: Sequence[CutVerdict], what: str) -> Iterator[Finding]:
    if verdicts:
        first = verdicts[0]
        yield Finding(
            what=f"{len(verdicts)} power cuts of {cell.server} ({cell.in_words}) {what}, the first {first.moment} at {first.seconds:.3f} s "
            f"(survivors {first.cut.survivors}, seed {first.cut.seed})",
        )
