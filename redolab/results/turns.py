"""Blocks to what the larger log gains in one cell, and to what clients met at changes of its size: pure but for reading the runs."""

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
    """What all blocks share that are put together."""

    machine: str
    version: str
    cell: ResizingCell
    conditions: ResizingConditions

    @property
    def label(self) -> str:
        """The server, as in `MySQL 9.7.4`."""
        return server_label(self.cell.server, self.version)


@dataclass(frozen=True, slots=True)
class TurnsResult:
    """All blocks of one cell."""

    key: Compared
    blocks: Sequence[ResizingTrial]

    @property
    def unit(self) -> str:
        """Of its throughput."""
        return "NOTPM" if self.blocks[0].counts_new_orders else "commits/s"

    @property
    def gain(self) -> Ratio:
        """By what share throughput differs with the larger log; each block counts once, as turns of one load are alike."""
        measured = [
            (str(number), size, statistics.geometric_mean(turn.rate for turn in block.turns if turn.log_size == size))
            for number, block in enumerate(self.blocks)
            for size in self.sizes
        ]
        return ratios(measured, self.key.cell.small)[self.key.cell.large]

    @property
    def sizes(self) -> tuple[int, int]:
        """The smaller log, the larger one; bytes."""
        return self.key.cell.small, self.key.cell.large

    def turns(self, size: int) -> list[Turn]:
        """The turns with a log of so many bytes."""
        return [turn for block in self.blocks for turn in block.turns if turn.log_size == size]

    def median(self, size: int, figure: Callable[[Turn], float | None]) -> float | None:
        """Of the turns with a log of so many bytes."""
        return median_of_known([figure(turn) for turn in self.turns(size)])

    def resizes(self, *, grows: bool) -> list[Resize]:
        """The changes to the larger log, or back."""
        return [each for block in self.blocks for each in block.resizes if each.grows is grows]


def turns_in(runs: Sequence[Run]) -> list[TurnsResult]:
    """A result for each cell, in the order of measuring. Raises `LabError`."""
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
