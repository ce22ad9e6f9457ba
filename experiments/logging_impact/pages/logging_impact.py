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

from ..effects import LogEffect, effects, measured_in
from ..factors import Factors
from ..report import answer, cell_label, costs_table, is_small, plots

_TEMPLATE = Path(__file__).with_suffix(".md")
_USUAL = 20
"""Clients, as the published points have, with which every log was measured: the answer and the picture are of these."""
_FEW = 2
"""Cells that are named one by one."""


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
        "resolved": _resolved(others),
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


def _resolved(found: Sequence[LogEffect]) -> list[str]:
    """Of each log where its effect is resolved; of one with many such cells their range."""
    said = []
    for log in dict.fromkeys(each.log for each in found):
        of_log = [each for each in found if each.log == log and each.throughput is not None]
        sure = [
            (each, each.throughput) for each in of_log if each.throughput is not None and each.throughput.excludes_zero
        ]
        if len(sure) > _FEW:
            changes = sorted(ratio.change for _, ratio in sure)
            said.append(
                f"{log} in {len(sure)} of {len(of_log)} cells, {changes[0]:+.0%} to {changes[-1]:+.0%}".replace(
                    "%", " %"
                )
            )
        else:
            said += [f"{log}, {cell_label(each.key)}, {ratio.with_interval()}" for each, ratio in sure]
    return said


def _most_foreign(shares: Sequence[float]) -> str:
    return f"{max(shares, default=0.0):.2f}"
