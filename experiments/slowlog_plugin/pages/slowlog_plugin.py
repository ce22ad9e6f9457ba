"""The page of what a slow query log without a lock costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.runs.machines import measured_on
from redolab.runs.store import Run

from ..plots import plot_costs
from ..table import GOAL, PLUGINS, answer, cost_rows, cost_table, killed_rows, killed_table
from ..trial import PluginTrial

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page of what was measured last of each server, and its picture."""
    trials = _last_of_each(runs)
    rows, killed = cost_rows(trials), killed_rows(trials)
    relative = [row for row in rows if row.arm in PLUGINS and row.relative is not None]
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
        "machines": measured_on(runs),
        "dates": ", ".join(dict.fromkeys(f"{run.record().began:%Y-%m-%d}" for run in runs)),
    }
    return Page(filled(_TEMPLATE, values), [Plot("costs", partial(plot_costs, rows=rows))])


def _last_of_each(runs: Sequence[Run]) -> list[PluginTrial]:
    """Of each server the trials of the last run that has it: blocks of two runs are not paired."""
    found: dict[str, list[PluginTrial]] = {}
    for run in runs:
        trials = [record.trial for record in run.trials(PluginTrial)]
        found |= {name: [each for each in trials if each.server == name] for name in {each.server for each in trials}}
    return [each for trials in found.values() for each in trials]
