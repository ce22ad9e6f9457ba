"""The page of what a larger redo log gains in throughput and costs in recovery."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redolab.crashes.loads import found_in
from redolab.report.contents import Page
from redolab.report.template import filled
from redolab.runs.store import Run
from redolab.units import format_size

from ..answer import sentence
from ..factors import Factors
from ..report import plots, workloads_of
from ..rows import series_of
from ..table import costs_table, throughput_table

_TOLD = ("server", "log_size")
_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page of all runs kept for it: each of them, on one machine, is a block of its own."""
    found = found_in(runs)
    series = series_of(found)
    session = runs[-1].record().sessions[0]
    values = {
        "answers": [sentence(each, series) for each in series],
        "table": throughput_table(series, workloads_of(found)).as_markdown(),
        "costs": costs_table(series).as_markdown(),
        "commands": [_command(run) for run in runs],
        "machine": f"{session.machine.in_words()}, {session.machine.system}",
        "dates": ", ".join(dict.fromkeys(f"{run.record().began:%Y-%m-%d}" for run in runs)),
        "marked": any(row.steady < row.n for each in series for row in each.rows),
    }
    return Page(filled(_TEMPLATE, values), plots(series, Factors().rto))


def _command(run: Run) -> str:
    """As it was asked for: servers, sizes, and what is not the default."""
    usual = {each: str(value) for each, value in Factors().in_words().items()}
    asked = {
        name: value
        for name, value in run.record().options.items()
        if name in _TOLD or (usual.get(name) != value and name != "seed")
    }
    words = [
        f"{name.replace('_', '').upper()}={_value(name, value)}"
        for name, value in sorted(asked.items(), key=_told_first)
    ]
    return " ".join(["make experiment throughput", *words])


def _told_first(option: tuple[str, str]) -> bool:
    return option[0] not in _TOLD


def _value(name: str, value: str) -> str:
    """A list of sizes is kept in bytes."""
    return ",".join(format_size(int(size)) for size in value.split(",")) if name == "log_size" else value
