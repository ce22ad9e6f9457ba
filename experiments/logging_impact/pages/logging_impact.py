"""The page of what logging queries costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redolab.report.contents import Page
from redolab.report.template import filled
from redolab.runs.machines import measured_on
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.units import format_size

from ..effects import effects, measured_in
from ..factors import Factors
from ..report import answer, cell_label, costs_table, is_small, plots

_TEMPLATE = Path(__file__).with_suffix(".md")
_USUAL = 20
"""Clients, as the published points have, with which every log was measured: the answer and the picture are of these."""


def page(runs: Sequence[Run]) -> Page:
    """The page of all runs kept for it."""
    measured = measured_in(runs)
    effects_found = effects(measured)
    servers = list(dict.fromkeys(each.key.cell.server for each in effects_found))
    found = sorted(
        effects_found,
        key=lambda each: (servers.index(each.key.cell.server), is_small(each.key), each.key.cell.connections),
    )
    usual = [each for each in found if each.key.cell.connections == _USUAL and not is_small(each.key)]
    others = [each for each in found if each not in usual]
    values = {
        "answer": answer(usual),
        "others": sorted({each.key.cell.connections for each in others if not is_small(each.key)}),
        "small_pool": format_size(next(each.key.cell.pool for each in others if is_small(each.key))),
        "blocks": max(each.throughput.blocks for each in others if each.throughput is not None),
        "resolved": [
            f"{each.log}, {cell_label(each.key)}, {each.throughput.with_interval()}"
            for each in others
            if each.throughput is not None and each.throughput.excludes_zero
        ],
        "table": costs_table(found).as_markdown(),
        "commands": [command(run, Factors(), always=("server", "logs")) for run in runs],
        "machines": measured_on(runs),
        "dates": ", ".join(dict.fromkeys(f"{run.record().began:%Y-%m-%d}" for run in runs)),
        "loads": len(measured),
        "foreign": _most_foreign(
            [each.trial.disturbance.others / each.trial.seconds for each in measured if each.trial.disturbance]
        ),
    }
    return Page(filled(_TEMPLATE, values), plots(usual))


def _most_foreign(shares: Sequence[float]) -> str:
    return f"{max(shares, default=0.0):.2f}"
