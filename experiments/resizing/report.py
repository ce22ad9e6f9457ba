"""What a run of turns measured: the answer, the tables and the picture."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import partial

from redolab.records.turns import Resize
from redolab.report.contents import Plot, Report
from redolab.report.table import PAGE
from redolab.results.turns import TurnsResult, turns_in
from redolab.runs.store import Run
from redolab.units import format_size

from .plots import plot_changes
from .rows import row
from .table import resizes_table, turns_table, with_tenths

_AT_ONCE = 1.0


def report(run: Run) -> Report:
    """The answer, the tables and the picture of a run. Raises `LabError`."""
    found = turns_in([run])
    if not found:
        return Report(answer="Nothing was measured.", tables=[])
    changes = [resizes_table(found)] if changed(found) else []
    return Report(
        answer=answer(found),
        tables=[turns_table(found), *changes],
        details=[turns_table(found, PAGE)],
        rows={"table": [row(block, turn) for cell in found for block in cell.blocks for turn in block.turns]},
        plots=plots(found),
    )


def plots(found: Sequence[TurnsResult]) -> list[Plot]:
    """The picture of the changes of size."""
    return [Plot("changes", partial(plot_changes, found=found, title=title(found)))] if changed(found) else []


def changed(found: Sequence[TurnsResult]) -> bool:
    """Whether any log was given another size."""
    return any(block.resizes for cell in found for block in cell.blocks)


def answer(found: Sequence[TurnsResult]) -> str:
    """Of each cell what the larger log gains and saves, then what clients met at a change of size."""
    return " ".join(f"{_gained(cell)} {_met(cell)}".strip() for cell in found)


def title(found: Sequence[TurnsResult]) -> str:
    """The slowest second of each server at a change of size, larger and smaller."""
    parts = []
    for cell in found:
        ends = [
            f"{statistics.median(each.slowest for each in changes):.0%} {word}".replace("%", " %")
            for word, changes in (("larger", cell.resizes(grows=True)), ("smaller", cell.resizes(grows=False)))
            if changes
        ]
        if ends:
            parts.append(f"{cell.key.label} {' and '.join(ends)}")
    return f"Slowest second while the redo log is made larger or smaller, of the usual throughput: {'; '.join(parts)}"


def _gained(cell: TurnsResult) -> str:
    """As in `MySQL 9.7.4, tpcc on native: +0.8 % (-0.4 to +2.1) NOTPM with a log of 4G instead of 256M by turns in one load`."""
    small, large = cell.sizes
    gain = cell.gain
    known = "" if math.isnan(gain.low) or gain.excludes_zero else ", not resolved"
    return (
        f"{cell.key.label}, {cell.key.cell.workload} on {cell.key.cell.storage}: "
        f"{with_tenths(gain.change, gain.low, gain.high)} {cell.unit} with a log of {format_size(large)} instead of "
        f"{format_size(small)} by turns in one load{known}."
    )


def _met(cell: TurnsResult) -> str:
    """As in `Made larger, the log has its size at once (slowest second 91 %), made smaller after 12.4 s (45 %).`"""
    parts = [
        f"{how} {_in_words(changes)}"
        for how, changes in (("made larger", cell.resizes(grows=True)), ("made smaller", cell.resizes(grows=False)))
        if changes
    ]
    if not parts:
        return ""
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}."


def _in_words(changes: Sequence[Resize]) -> str:
    seconds = statistics.median(each.in_force_s for each in changes)
    slowest = [each.slowest for each in changes]
    when = "within a second" if seconds < _AT_ONCE else f"after {seconds:.1f} s"
    least = f"{statistics.median(slowest):.0%}, at worst {min(slowest):.0%}".replace("%", " %")
    return f"it had its size {when}, the slowest second {least} of the usual throughput"
