"""What is measured: states of a disk, recovered and judged."""

from __future__ import annotations

import msgspec

from redolab.powercut.cuts import Moment
from redolab.powercut.ledger import LedgerVerdict
from redolab.powercut.states import PowerCut
from redolab.records.recovery import Outcome
from redolab.workloads.data import TableCheck

from .cells import Cell


class CutVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One state, and what came of it."""

    moment: Moment
    seconds: float
    """From the clients' beginning to the cut."""
    cut: PowerCut
    hash: str
    """Of the state: the same for the same content."""
    outcome: Outcome
    ledger: LedgerVerdict | None = None
    """None where the server was not ready."""
    failed: tuple[TableCheck, ...] = ()
    """What else is not as it must be."""
    said: tuple[str, ...] = ()
    """The last lines of a server that was not ready."""

    @property
    def is_lost(self) -> bool:
        """Whether acknowledged commits are lost."""
        return self.ledger is not None and self.ledger.lost > 0

    @property
    def is_apart(self) -> bool:
        """Whether tables and binary log hold something else."""
        return self.ledger is not None and not self.ledger.agrees_with_binary_log

    @property
    def is_broken(self) -> bool:
        """Whether the server does not come up, or holds what cannot be."""
        return self.ledger is None or not self.ledger.is_whole or bool(self.failed)


class DurabilityTrial(msgspec.Struct, frozen=True, kw_only=True):
    """Some states of one recording."""

    cell: Cell
    version: str
    recording: int
    sampled: bool
    """Whether the cuts were drawn at random, so that shares can be told; else they were where a fault would show."""
    recovered_s: float
    """Seconds that all recoveries took together with building and judging."""
    verdicts: tuple[CutVerdict, ...]
