"""What runs differ by, from times of which the truth is known."""

from __future__ import annotations

import math
import random

import pytest

from redolab.predict.replicates import replicates


def drawn(between: float, within: float, cells: int = 60) -> list[list[tuple[str, float]]]:
    draw = random.Random(7)
    found = []
    for _ in range(cells):
        of_run = {run: draw.gauss(0, between) for run in ("a", "b", "c")}
        found.append(
            [(run, 10 * math.exp(shift + draw.gauss(0, within))) for run, shift in of_run.items() for _ in range(3)]
        )
    return found


@pytest.mark.parametrize(("between", "within"), [(0.1, 0.03), (0.0, 0.05), (0.05, 0.1)])
def test_what_runs_add_is_told_from_what_recoveries_differ_by(between: float, within: float) -> None:
    found = replicates(drawn(between, within))
    assert found.between == pytest.approx(between, abs=0.02)
    assert found.within == pytest.approx(within, rel=0.15)
    assert (found.cells, found.runs, found.freedom) == (60, 3, 120)


def test_cells_of_one_run_tell_nothing_of_runs() -> None:
    alone = replicates([[("a", 1.0), ("a", 1.1)], [("b", 5.0)]])
    assert (alone.between, alone.cells) == (None, 0)
    assert alone.within == pytest.approx(math.log(1.1) / math.sqrt(2))
