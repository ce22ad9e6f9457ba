"""The page of what the settings change, each alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redolab.report.contents import Page
from redolab.report.table import PAGE
from redolab.report.template import filled
from redolab.results.marks import marks_of
from redolab.runs.machines import measured_on
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.units import format_size

from ..buffered import buffered_in
from ..effects import effects, measured_in, skipped_in
from ..factors import Factors
from ..report import answer, plots, settings_table

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page of all runs kept for it: each has blocks of its own."""
    found = effects(measured_in(runs))
    servers = dict.fromkeys(each.server for each in found)
    values = {
        "answers": [answer([each for each in found if each.server == server]) for server in servers],
        "table": settings_table(found, skipped_in(runs), marks_of(runs), PAGE).as_markdown(),
        "buffered": buffered_in(runs),
        "size": _size,
        "commands": [command(run, Factors(), always=["server"]) for run in runs],
        "machines": measured_on(runs),
        "dates": ", ".join(dict.fromkeys(f"{run.record().began:%Y-%m-%d}" for run in runs)),
    }
    return Page(filled(_TEMPLATE, values), plots(found))


def _size(value: float | None) -> str:
    return "–" if value is None else format_size(round(value))
