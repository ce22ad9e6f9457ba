"""Differences between whole runs: configurations measured in several runs, hours or days apart."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from redolab.grouping import by_key
from redolab.units import noun


@dataclass(frozen=True, slots=True)
class Replicates:
    """Standard deviations of the logarithm of a time: between runs of a configuration, and within a run."""

    between: float | None
    """Deviation between runs, without that of recoveries; None if no configuration was measured in two runs."""
    within: float | None
    """Deviation between recoveries; None if no run has a configuration twice."""
    cells: int
    """Number of configurations measured in several runs."""
    runs: int
    """Number of runs with these configurations."""
    freedom: int
    """Degrees of freedom of `between`."""

    def in_words(self) -> str:
        """Return it as `±6 % between runs (12 cells in 5 runs), ±3 % between recoveries of one run`."""
        if self.between is None:
            return "no cell was measured in two runs: what runs differ by is not known"
        within = (
            "" if self.within is None else f", ±{math.expm1(self.within):.0%} between recoveries of one cell in one run"
        )
        cells = f"{noun(self.cells, 'cell')} in {self.runs} runs"
        return f"±{math.expm1(self.between):.0%} between runs ({cells}, {self.freedom} degrees of freedom){within}"


def replicates(cells: Sequence[Sequence[tuple[str, float]]]) -> Replicates:
    """Return the differences between runs, from the recoveries of each configuration as (run, seconds).

    One-way random effects within each configuration, pooled by degrees of freedom (Searle, Casella and McCulloch,
    Variance Components, 3.6). The means of runs differ by the deviation of recoveries too, which is subtracted.
    """
    by_run = [_logarithms(cell) for cell in cells]
    within_squares = sum(_squares(times) for cell in by_run for times in cell.values())
    within_freedom = sum(len(times) - 1 for cell in by_run for times in cell.values())
    variance = within_squares / within_freedom if within_freedom else None
    within = None if variance is None else math.sqrt(variance)
    repeated = [cell for cell in by_run if len(cell) > 1]
    if not repeated:
        return Replicates(None, within, 0, 0, 0)
    freedom = sum(len(cell) - 1 for cell in repeated)
    squares, weight = 0.0, 0.0
    for cell in repeated:
        times = [each for of_run in cell.values() for each in of_run]
        mean = statistics.fmean(times)
        squares += sum(len(of_run) * (statistics.fmean(of_run) - mean) ** 2 for of_run in cell.values())
        weight += len(times) - sum(len(of_run) ** 2 for of_run in cell.values()) / len(times)
    between = math.sqrt(max(0.0, squares - freedom * (variance or 0.0)) / weight)
    return Replicates(between, within, len(repeated), len({run for cell in repeated for run in cell}), freedom)


def _logarithms(cell: Sequence[tuple[str, float]]) -> dict[str, list[float]]:
    """Return run → logarithms of its seconds."""
    return {run: [math.log(seconds) for _, seconds in of_run] for run, of_run in by_key(cell, itemgetter(0)).items()}


def _squares(times: Sequence[float]) -> float:
    mean = statistics.fmean(times)
    return sum((each - mean) ** 2 for each in times)
