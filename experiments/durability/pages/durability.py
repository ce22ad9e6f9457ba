"""The page of durability: what power cuts lost, by how the server syncs, and the controls beside it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.runs.store import Run

from ..plots import plot_lost
from ..promises import promise_of
from ..report import CellResult, controls_table, lost_table, results
from ..trial import DurabilityTrial

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page and its picture."""
    trials = [record.trial for run in runs for record in run.trials(DurabilityTrial)]
    found = results(trials)
    shown = [each for each in found if not each.is_control]
    promised = [each for each in shown if promise_of(each.cell) is not None]
    values = {
        "promised": sum(len(each.verdicts) for each in promised),
        "promised_lost": sum(len(each.lost) for each in promised),
        "commit_two": _range([each for each in shown if _is(each, 2, None)]),
        "commit_zero": _range([each for each in shown if _is(each, 0, None)]),
        "unsynced_log": [each for each in shown if _is(each, 1, 0)],
        "lost": lost_table(found).as_markdown(),
        "controls": controls_table(found).as_markdown(),
        "not_red": [each for each in found if each.is_control and not each.has_red],
        "states": sum(each.distinct for each in found),
        "machine": runs[-1].record().sessions[-1].machine.in_words(),
    }
    return Page(filled(_TEMPLATE, values), [Plot("lost", partial(plot_lost, cells=found))])


def _is(result: CellResult, trx_commit: int, sync_binlog: int | None) -> bool:
    cell = result.cell
    return (cell.trx_commit, cell.sync_binlog, cell.variation) == (trx_commit, sync_binlog, "plain")


def _range(cells: Sequence[CellResult]) -> str:
    """Up to how long before the cut commits were taken back, as in `0.8 s`; `nothing` where none was."""
    back = [second for each in cells for second in each.seconds_back]
    return f"up to {max(back):.1f} s" if back else "nothing"
