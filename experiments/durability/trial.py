"""What is measured: states of a disk, recovered and judged."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from redolab.powercut.cuts import Moment
from redolab.powercut.explaining import Explanation
from redolab.powercut.ledger import Fault, LedgerVerdict, faults_of
from redolab.powercut.states import PowerCut
from redolab.records.recovery import Outcome
from redolab.runs.schema import Rows
from redolab.runs.store import Run
from redolab.workloads.data import TableCheck

from .cells import Cell


class Cuts(StrEnum):
    """How the cuts of a step were chosen."""

    SAMPLED = "at random"
    """At times drawn at random: of these shares can be told."""
    SEARCHED = "searched"
    """Where a fault would show: these bound nothing."""
    KILLED = "killed"
    """Not at all: what SIGKILL leaves, beside them."""
    MACHINE = "of the machine"
    """Of a virtual machine, for real: in runs of the past alone."""


class CutVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    explanation: Explanation | None = None
    """What had to be lost for it, where that was looked for."""

    @property
    def is_lost(self) -> bool:
        """Whether acknowledged commits are lost."""
        return Fault.LOST in self.faults

    @property
    def is_apart(self) -> bool:
        """Whether tables and binary log hold something else."""
        return Fault.APART in self.faults

    @property
    def is_broken(self) -> bool:
        """Whether the server does not come up, or holds what cannot be."""
        return Fault.BROKEN in self.faults

    @property
    def faults(self) -> list[Fault]:
        """All that is wrong, whatever was promised."""
        return faults_of(self.ledger, self.failed)


class DurabilityTrial(msgspec.Struct, frozen=True, kw_only=True):
    """Some states of one recording."""

    cell: Cell
    version: str
    recording: int
    cuts: Cuts
    recovered_s: float
    """Seconds that all recoveries took together with building and judging."""
    verdicts: tuple[CutVerdict, ...]


def rows(run: Run) -> Rows:
    """Return the trials of a run for frames (docs/run-data.md), a row for each batch of states. Raises `LabError`."""
    return [
        (
            record,
            {
                "server": record.trial.cell.server,
                "version": record.trial.version,
                "trx_commit": record.trial.cell.trx_commit,
                "sync_binlog": record.trial.cell.sync_binlog,
                "variation": record.trial.cell.variation,
                "recording": record.trial.recording,
                "cuts": str(record.trial.cuts),
                "states": len(record.trial.verdicts),
                "states_that_lost": sum(each.is_lost for each in record.trial.verdicts),
                "broken": sum(each.is_broken for each in record.trial.verdicts),
            },
        )
        for record in run.trials(DurabilityTrial)
    ]
