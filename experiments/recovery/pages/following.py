"""The page of recoveries that were followed while they ran: how far off the time left was."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from redolab.models.time_left import Way
from redolab.project import PROJECT
from redolab.report.contents import Page, Plot
from redolab.report.plots import WIDTH, plt, save
from redolab.report.template import filled
from redolab.results.committed import OTHER_MACHINES
from redolab.runs.store import Run
from redolab.watching.following.errors_view import (
    LONG,
    by_length_table,
    by_server_table,
    by_sight_table,
    marks_table,
    ways,
)
from redolab.watching.following.judged import EARLY, MARKS, Asked, judged
from redolab.watching.following.replayed import SHORTEST, replays_in

from .live import MARKS as LIVE_MARKS
from .live import LiveRecovery, live_table, read_live

_TEMPLATE = Path(__file__).with_suffix(".md")
_PICTURE = "errors"
_LIVE = Path("following/live.csv")
_IN_A_ROW = 2
_TITLE = 48
"""Characters of a panel's title in a line."""
_ENOUGH = 50
"""Recoveries at a mark for a point in the picture."""


def page(runs: Sequence[Run]) -> Page:
    """The page and its picture."""
    replays, live = replays_in(runs), read_live(PROJECT.measured / _LIVE)
    judgement = judged(replays)
    found = ways(judgement)
    values = {
        "recoveries": len(replays),
        "looked_at": sum(each.process is not None for each in replays),
        "later": _later([each for _, asked in found[:1] for each in asked], runs),
        "shortest": f"{SHORTEST:.0f}",
        "servers": len({each.server for each in replays}),
        "files": _percent(judgement.asked[Way.FILES]),
        "log": _percent(judgement.asked[Way.LOG]),
        "live_off": _live_off(live),
        "long": _long(judgement.asked[Way.FILES]),
        "longest": max(each.ready for each in replays),
        "ways": [
            {
                "name": where,
                "marks": marks_table(asked).as_markdown(),
                "servers": by_server_table(asked).as_markdown(),
                "lengths": by_length_table(asked).as_markdown(),
                "sight": by_sight_table(asked).as_markdown(),
            }
            for where, asked in found
        ],
        "machine": runs[0].record().sessions[0].machine.in_words(),
        "live": live,
        "live_servers": len({each.server for each in live}),
        "live_table": live_table(live).as_markdown(),
    }
    # Of the few whose processes were looked at there is too little for a picture.
    drawn = [each for each in found if len(each[1]) >= _ENOUGH * len(MARKS)]
    return Page(filled(_TEMPLATE, values), [Plot(_PICTURE, partial(plot_errors, found=drawn))])


@dataclass(frozen=True, slots=True)
class Long:
    """Recoveries of `LONG` and more, from a quarter of their time on."""

    recoveries: int
    off: float
    """Median error, a share of the whole time."""


def _long(asked: Sequence[Asked]) -> Long:
    own = [each for each in asked if each.replay.ready >= LONG and each.mark > EARLY]
    return Long(len({id(each.replay) for each in own}), statistics.median(abs(each.off) for each in own))


def _live_off(live: Sequence[LiveRecovery]) -> dict[str, str]:
    """Return mark → the median error of recoveries that were followed live, in words."""
    return {
        f"{mark:.0%}": f"{statistics.median(abs(each.off(said)) for each in live if (said := each.at(mark))):.0%}"
        for mark in LIVE_MARKS
    }


@dataclass(frozen=True, slots=True)
class Later:
    """Of recoveries whose processes were looked at: those that were measured when the method was as it is."""

    recoveries: int
    off: Mapping[str, float]
    """Mark, as in `25%` → the median error, a share of the whole time."""


def _later(asked: Sequence[Asked], runs: Sequence[Run]) -> Later:
    names = {run.name for run in runs if run.folder.parent.name in OTHER_MACHINES}
    own = [each for each in asked if each.replay.run in names and each.replay.process is not None]
    return Later(
        recoveries=len({id(each.replay) for each in own}),
        off={f"{mark:.0%}": statistics.median(abs(each.off) for each in own if each.mark == mark) for mark in MARKS},
    )


def plot_errors(folder: Path, found: Sequence[tuple[str, Sequence[Asked]]]) -> None:
    """A panel for each of what is at hand: how far off, over how much of the time has passed."""
    rows = math.ceil(len(found) / _IN_A_ROW)
    figure, panels = plt.subplots(
        rows, _IN_A_ROW, sharex=True, sharey=True, squeeze=False, figsize=(WIDTH, 3.1 * rows), layout="constrained"
    )
    for axes in panels.flat[len(found) :]:
        axes.set_visible(False)
    for axes, (where, asked) in zip(panels.flat, found, strict=False):
        marks = [100 * each for each in MARKS]
        axes.fill_between(marks, 0, _quantiles(asked, 0.9, _off), color="tab:blue", alpha=0.2, label="90 % within")
        axes.plot(marks, _quantiles(asked, 0.5, _off), "o-", color="tab:blue", label="50 % within")
        axes.plot(marks, _quantiles(asked, 0.5, _straight), "s--", color="0.4", label="50 % within, by a straight line")
        recoveries = len({id(each.replay) for each in asked})
        axes.set_title(textwrap.fill(f"{where}: {recoveries} recoveries", _TITLE), fontsize="small")
        axes.set_xticks(marks)
        axes.grid(alpha=0.3)
    figure.supxlabel("% of its time passed", fontsize="medium")
    figure.supylabel("expected end off by, % of the whole time", fontsize="medium")
    panels[0][0].set_ylim(0, None)
    panels[0][0].legend(loc="upper right", fontsize="small")
    figure.suptitle("How long still? How far off the expected end was while recoveries ran", fontsize="large")
    save(figure, folder / _PICTURE)


def _off(asked: Asked) -> float | None:
    return asked.off


def _straight(asked: Asked) -> float | None:
    return asked.straight


def _quantiles(asked: Sequence[Asked], share: float, of: Callable[[Asked], float | None]) -> list[float]:
    """At each mark, in per cent; not a number where there are too few."""
    found = []
    for mark in MARKS:
        values = [abs(value) for each in asked if each.mark == mark and (value := of(each)) is not None]
        found.append(100 * float(np.quantile(values, share)) if len(values) >= _ENOUGH else float("nan"))
    return found


def _percent(asked: Sequence[Asked]) -> dict[str, str]:
    """Mark → the median error there, in words."""
    return {f"{mark:.0%}": f"{value:.0f} %" for mark, value in zip(MARKS, _quantiles(asked, 0.5, _off), strict=True)}
