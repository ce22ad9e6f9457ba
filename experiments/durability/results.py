"""All that was found of each cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redolab.powercut.explaining import Explanation
from redolab.powercut.ledger import LedgerVerdict

from .cells import VARIATIONS, Cell
from .trial import Cuts, CutVerdict, DurabilityTrial


@dataclass(frozen=True, slots=True)
class CellResult:
    """All states of one cell."""

    cell: Cell
    version: str
    trials: Sequence[DurabilityTrial]

    @property
    def is_control(self) -> bool:
        """Whether it must lose."""
        return VARIATIONS[self.cell.variation].must_lose

    @property
    def verdicts(self) -> list[CutVerdict]:
        """Of all its states."""
        return [each for trial in self._cut for each in trial.verdicts]

    @property
    def _cut(self) -> list[DurabilityTrial]:
        return [trial for trial in self.trials if trial.cuts is not Cuts.KILLED]

    @property
    def killed(self) -> list[CutVerdict]:
        """Of what SIGKILL has left of each recording, without a power cut."""
        return [each for trial in self.trials if trial.cuts is Cuts.KILLED for each in trial.verdicts]

    @property
    def ledgers(self) -> list[LedgerVerdict]:
        """Of those whose servers came up, what of the ledger they held."""
        return [each.ledger for each in self.verdicts if each.ledger is not None]

    @property
    def defining(self) -> int:
        """States of cuts in the middle of a statement that defines a table."""
        return sum(each.defining for each in self.ledgers)

    @property
    def explanations(self) -> list[tuple[CutVerdict, Explanation]]:
        """States of which it was looked for what had to be lost."""
        return [(each, each.explanation) for each in self.verdicts if each.explanation is not None]

    @property
    def sampled(self) -> list[CutVerdict]:
        """Of cuts at random moments."""
        return [each for trial in self.trials if trial.cuts is Cuts.SAMPLED for each in trial.verdicts]

    @property
    def distinct(self) -> int:
        """States with content of their own: what was recovered."""
        return len({(trial.recording, each.hash) for trial in self._cut for each in trial.verdicts})

    @property
    def recordings(self) -> int:
        """Loads that were recorded."""
        return len({trial.recording for trial in self.trials})

    @property
    def lost(self) -> list[int]:
        """Lost commits of every state that lost some."""
        return [each.lost for each in self.ledgers if each.lost]

    @property
    def seconds_back(self) -> list[float]:
        """Of these, how long before the cut the oldest was acknowledged."""
        return [each.seconds_back for each in self.ledgers if each.lost]

    @property
    def seen_then_lost(self) -> int:
        """States in which something is gone that another session had read."""
        return sum(each.seen_then_lost > 0 for each in self.ledgers)

    @property
    def apart(self) -> int:
        """States in which tables and binary log hold something else."""
        return sum(each.is_apart for each in self.verdicts)

    @property
    def binary_log_ahead(self) -> int:
        """States in which the binary log, and so a replica, holds transactions that the tables have lost."""
        return sum(each.only_in_binary_log > 0 for each in self.ledgers)

    @property
    def tables_ahead(self) -> int:
        """States in which the tables hold transactions that the binary log, and so every replica, lacks."""
        return sum(each.only_in_tables > 0 for each in self.ledgers)

    @property
    def only_on_replica(self) -> list[int]:
        """Of each state after which a replica had transactions that the server has lost: how many."""
        return [each.only_on_replica for each in self.ledgers if each.only_on_replica]

    @property
    def broken(self) -> int:
        """States that did not come up, or contradict themselves."""
        return sum(each.is_broken for each in self.verdicts)

    @property
    def has_red(self) -> bool:
        """Whether anything was lost or broken."""
        return bool(self.lost) or self.broken > 0


def results(trials: Sequence[DurabilityTrial]) -> list[CellResult]:
    """A result for each cell, in the order of the plan."""
    cells: dict[Cell, list[DurabilityTrial]] = {}
    for trial in trials:
        cells.setdefault(trial.cell, []).append(trial)
    return [CellResult(cell, of_it[0].version, of_it) for cell, of_it in cells.items()]
