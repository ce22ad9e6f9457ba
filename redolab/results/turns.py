"""Gain of the larger log in one configuration, and clients' waits at changes of its size, from the blocks of runs."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redolab.models.intervals import Ratio, median_of_known, ratios
from redolab.records.turns import Resize, ResizingCell, ResizingConditions, ResizingPlan, ResizingTrial, Turn
from redolab.report.labels import server_label
from redolab.runs.machines import machines_of
from redolab.runs.store import Run


@dataclass(frozen=True, slots=True)
class Compared:
    """Conditions that all blocks put together share."""

    machine: str
    version: str
    cell: ResizingCell
    conditions: ResizingConditions

    @property
    def label(self) -> str:
        """Name of the server, as in `MySQL 9.7.4`."""
        return server_label(self.cell.server, self.version)


@dataclass(frozen=True, slots=True)
class TurnsResult:
    """All blocks of one configuration."""

    key: Compared
    blocks: Sequence[ResizingTrial]

    @property
    def unit(self) -> str:
        """Unit of the throughput."""
        return "NOTPM" if self.blocks[0].counts_new_orders else "commits/s"

    @property
    def gain(self) -> Ratio:
        """Relative difference in throughput with the larger log; each block counts once, as turns of a load are
        similar.
        """
        measured = [
            (str(number), size, statistics.geometric_mean(turn.rate for turn in block.turns if turn.log_size == size))
            for number, block in enumerate(self.blocks)
            for size in self.sizes
        ]
        return ratios(measured, self.key.cell.small)[self.key.cell.large]

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of the smaller log and of the larger one."""
        return self.key.cell.small, self.key.cell.large

    def turns(self, size: int) -> list[Turn]:
        """Return the turns with a log of `size` bytes."""
        return [turn for block in self.blocks for turn in block.turns if turn.log_size == size]

    def median(self, size: int, figure: Callable[[Turn], float | None]) -> float | None:
        """Return the median of a figure over the turns with a log of `size` bytes."""
        return median_of_known([figure(turn) for turn in self.turns(size)])

    def resizes(self, *, grows: bool) -> list[Resize]:
        """Return the changes to the larger log, or back."""
        return [each for block in self.blocks for each in block.resizes if each.grows is grows]


def turns_in(runs: Sequence[Run]) -> list[TurnsResult]:
    """Return a result for each configuration, in the order of measurement. Raises `LabError`."""
    machines = machines_of(runs)
    cells: dict[Compared, list[ResizingTrial]] = defaultdict(list)
    for run in runs:
        plan: ResizingPlan = run.plan(ResizingPlan)
        groups = run.groups()
        for record in run.trials(ResizingTrial):
            trial = record.trial
            machine = machines[run.name][groups[record.group].session]
            cells[Compared(machine, trial.version, trial.cell, plan.conditions)].append(trial)
    return [TurnsResult(key, blocks) for key, blocks in cells.items()]
