"""The rotations of a cell together: pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redolab.models.intervals import median_interval
from redolab.report.labels import server_label

from .trial import RotationCell, RotationTrial


@dataclass(frozen=True, slots=True)
class CellResult:
    """All rotations of one cell."""

    cell: RotationCell
    trials: Sequence[RotationTrial]
    machine: str = ""
    """On which they were, as a table names it."""

    @property
    def label(self) -> str:
        """The server as a reader knows it."""
        return server_label(self.cell.server, self.trials[0].version)

    @property
    def during(self) -> list[float]:
        """The longest time of a statement in milliseconds, in each stretch with a rotation."""
        return [each.during.longest_ms for each in self.trials]

    @property
    def without(self) -> list[float]:
        """The same, in the stretch before each."""
        return [each.without.longest_ms for each in self.trials]

    @property
    def more(self) -> float:
        """By how many milliseconds it is longer with a rotation: the median of the pairs."""
        return statistics.median(each.more_ms for each in self.trials)

    @property
    def more_interval(self) -> tuple[float, float]:
        """Its 95 % interval; NaN for fewer than six pairs."""
        return median_interval([each.more_ms for each in self.trials])

    def median_of(self, count: Callable[[RotationTrial], float]) -> float:
        """The median of a count over the rotations."""
        return statistics.median(count(each) for each in self.trials)

    def of_all(self, count: Callable[[RotationTrial], int]) -> int:
        """The sum of a count over the rotations."""
        return sum(count(each) for each in self.trials)

    @property
    def flushed(self) -> int:
        """Rotations that closed tables which nobody read."""
        return sum(bool(each.flushed_tables) for each in self.trials)

    @property
    def storage(self) -> str:
        """Name of the storage profile."""
        return self.cell.storage

    @property
    def late_share(self) -> float | None:
        """Share of requests answered late, the median of its trials."""
        known = [each.late_share for each in self.trials if each.late_share is not None]
        return statistics.median(known) if known else None

    @property
    def buffered(self) -> bool:
        """One of its trials ran on a buffered disk."""
        return any(each.buffered for each in self.trials)

    @property
    def decided_by(self) -> None:
        """Figures that the storage decided; None: any may be."""
        return


def results(measured: Sequence[tuple[RotationTrial, str]]) -> list[CellResult]:
    """A result for each cell and machine, from trials each with its machine; cells that differ in one factor stand together."""
    cells: dict[tuple[RotationCell, str], list[RotationTrial]] = {}
    for trial, machine in measured:
        cells.setdefault((trial.cell, machine), []).append(trial)
    # The order of the plan is drawn: servers, disks and file systems as they come, methods as they are listed.
    groups = list(dict.fromkeys(_group(cell, machine) for cell, machine in cells))
    methods = list(type(next(iter(cells))[0].method)) if cells else []
    ranked = sorted(
        cells,
        key=lambda key: (groups.index(_group(*key)), key[0].log_file, methods.index(key[0].method), key[0].held),
    )
    return [CellResult(cell, cells[cell, machine], machine) for cell, machine in ranked]


def _group(cell: RotationCell, machine: str) -> tuple[str, ...]:
    return machine, cell.server, cell.storage, cell.file_system
