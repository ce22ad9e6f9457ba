"""A power cut, and the check result of the server that recovered from it."""

from __future__ import annotations

import msgspec

from redolab.crash.records.recovery import Outcome
from redolab.powercut.cuts import CutTime
from redolab.powercut.explaining import Explanation
from redolab.powercut.ledger import Fault, LedgerVerdict, faults_of
from redolab.powercut.states import PowerCut
from redolab.workloads.data import TableCheck


class CutVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One crash state, and the check result of its recovery."""

    moment: CutTime
    seconds: float
    """Seconds from the clients' beginning to the cut."""
    cut: PowerCut
    hash: str
    """Hash of the state: the same for the same content."""
    outcome: Outcome
    ledger: LedgerVerdict | None = None
    """Comparison with the ledger; None if the server was not ready."""
    failed: tuple[TableCheck, ...] = ()
    """Checks that failed beside the ledger."""
    said: tuple[str, ...] = ()
    """The last lines of a server that was not ready."""
    explanation: Explanation | None = None
    """Fewest lost writes that cause the fault; None if they were not searched for."""

    @property
    def is_lost(self) -> bool:
        """True if acknowledged commits are lost."""
        return Fault.LOST in self.faults

    @property
    def is_broken(self) -> bool:
        """True if the server does not come up or contradicts itself."""
        return Fault.BROKEN in self.faults

    @property
    def faults(self) -> list[Fault]:
        """All faults, whatever the settings promise."""
        return faults_of(self.ledger, self.failed)
