"""The page of the redo log's size changed under load: what the larger log gains, and what clients meet at a change."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from redolab.report.contents import Page
from redolab.report.table import PAGE
from redolab.report.template import filled
from redolab.results.turns import turns_in
from redolab.runs.machines import measured_on
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.units import format_duration

from ..factors import Factors
from ..report import answer, plots
from ..table import resizes_table, turns_table

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page of all runs kept for it. Raises `LabError`."""
    found = turns_in(runs)
    blocks = [block for cell in found for block in cell.blocks]
    values = {
        "answer": answer(found),
        "turns": turns_table(found, PAGE).as_markdown(),
        "changes": resizes_table(found, PAGE).as_markdown(),
        "ordinary": f"{statistics.median(turn.worst_second for block in blocks for turn in block.turns):.0%}".replace(
            "%", " %"
        ),
        "blocks": len(blocks),
        "settling": _each(format_duration(cell.key.conditions.settling) for cell in found),
        "commands": [command(run, Factors(), always=("server", "log_size")) for run in runs],
        "machines": measured_on(runs),
        "dates": _each(f"{run.record().began:%Y-%m-%d}" for run in runs),
    }
    return Page(filled(_TEMPLATE, values), plots(found))


def _each(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))
