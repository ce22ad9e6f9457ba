"""The page of what a slow query log without a lock costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.runs.store import Run

from ..plots import plot_costs
from ..table import GOAL, PLUGINS, answer, cost_rows, cost_table, killed_rows, killed_table
from ..trial import PluginTrial

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page of the last run kept for it, and its picture."""
    run = runs[-1]
    trials = [record.trial for record in run.trials(PluginTrial)]
    rows, killed = cost_rows(trials), killed_rows(trials)
    relative = [row for row in rows if row.arm in PLUGINS and row.relative is not None]
    session = run.record().sessions[0]
    values = {
        "answer": answer(rows, killed),
        "costs": cost_table(rows).as_markdown(),
        "killed": killed_table(killed).as_markdown() if killed else "",
        "cells": len(relative),
        "met": sum(row.relative is not None and row.relative.share <= GOAL for row in relative),
        "statements": sum(row.executed for row in rows if row.arm in PLUGINS),
        "missing": sum(abs(row.lost or 0) for row in rows if row.arm in PLUGINS),
        "cut_off": sum(row.cut_off for row in rows if row.arm in PLUGINS),
        "seconds": max(trial.seconds for trial in trials),
        "machine": f"{session.machine.in_words()}, {session.machine.system}",
        "date": f"{session.began:%Y-%m-%d}",
    }
    return Page(filled(_TEMPLATE, values), [Plot("costs", partial(plot_costs, rows=rows))])
