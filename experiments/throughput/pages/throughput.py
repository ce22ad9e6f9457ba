"""The page of what a larger redo log gains in throughput and costs in recovery."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redolab.records.crash import filled_to
from redolab.report.contents import Page
from redolab.report.template import filled
from redolab.results.loads import found_in
from redolab.results.marks import marks_of
from redolab.runs.machines import measured_on
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.storage.catalogue import storage_profile
from redolab.storage.profiles import CLOUD

from ..answer import finding, limited_in_words, sentence
from ..factors import Factors
from ..report import plots, rto_of, workloads_of
from ..rows import series_of
from ..table import costs_table, throughput_table

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page of all runs kept for it, the oldest first: each of them, on one machine, is a block of its own."""
    found = found_in(runs)
    series = series_of(found)
    off = marks_of(runs)
    values = {
        "workloads": workloads_of(found),
        "filled_to": filled_to([each.image for each in found.worst]),
        "finding": finding(series).rstrip("."),
        "cloud": storage_profile(CLOUD).about,
        "answers": [sentence(each, series) for each in series],
        "limited": limited_in_words(series),
        "table": throughput_table(series, workloads_of(found), off).as_markdown(),
        "costs": costs_table(series, off).as_markdown(),
        "commands": [command(run, Factors(), always=("server", "log_size")) for run in runs],
        "machines": measured_on(runs),
        "dates": ", ".join(dict.fromkeys(f"{run.record().began:%Y-%m-%d}" for run in runs)),
    }
    return Page(filled(_TEMPLATE, values), plots(series, rto_of(runs[-1])))
