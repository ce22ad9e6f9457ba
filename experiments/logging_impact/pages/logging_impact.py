"""The page of what logging queries costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redolab.report.contents import Page
from redolab.report.template import filled
from redolab.runs.machines import measured_on
from redolab.runs.repeat_command import command
from redolab.runs.store import Run

from ..effects import effects, measured_in
from ..factors import Factors
from ..report import answer, costs_table, plots

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page of all runs kept for it."""
    measured = measured_in(runs)
    found = effects(measured)
    values = {
        "answers": answer(found),
        "table": costs_table(found).as_markdown(),
        "commands": [command(run, Factors(), always=("server", "logs")) for run in runs],
        "machines": measured_on(runs),
        "dates": ", ".join(dict.fromkeys(f"{run.record().began:%Y-%m-%d}" for run in runs)),
        "loads": len(measured),
        "foreign": _most_foreign(
            [each.trial.disturbance.others / each.trial.seconds for each in measured if each.trial.disturbance]
        ),
    }
    return Page(filled(_TEMPLATE, values), plots(found))


def _most_foreign(shares: Sequence[float]) -> str:
    return f"{max(shares, default=0.0):.2f}"
