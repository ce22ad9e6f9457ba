"""Page of recoveries that were followed while they ran: how far off the time left was."""

from __future__ import annotations

import math
import statistics
import textwrap
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from redolab.models.time_left import Knows, Way
from redolab.project import PROJECT
from redolab.report.contents import Page, Plot
from redolab.report.plots import WIDTH, plt, save
from redolab.report.table import Column, ReportTable
from redolab.report.template import filled
from redolab.results.committed import FOLLOWED, OTHER_MACHINES
from redolab.runs.store import Run
from redolab.units import format_duration

from .follow_judged import EARLY, MARKS, RULE_MB_S, Asked, grouped, judged, recoveries_in
from .live import MARKS as LIVE_MARKS
from .live import LiveRecovery, live_table, read_live
from .replays import SHORTEST, replays_in

Error = Callable[[Asked], float | None]
Row = tuple[str, Sequence[Asked]]

_TEMPLATE = Path(__file__).with_suffix(".md")
RUNS = FOLLOWED
"""Folders under data/measured whose runs the page is made from."""
_PICTURE = "errors"
_LIVE = Path("following/live.csv")
_WAYS = {
    Way.PROCESS: "by the log, the redo log files and the process, as on the server's own machine",
    Way.PROCESS_ALONE: (
        "by the redo log files and the process alone, as of a server that logs nothing before it is ready"
    ),
    Way.FILES: "by the log and the redo log files",
    Way.LOG: "by the log alone",
}
LONG = 600.0
"""Seconds from which on a recovery is a long one."""
_LENGTHS = (SHORTEST, 60.0, 150.0, 300.0, LONG)
"""Seconds from which on recoveries are shown together, each up to the next."""
_IN_A_ROW = 2
_TITLE = 48
"""Characters of a panel's title in a line."""
_ENOUGH = 50
"""Recoveries at a mark for a point in the picture."""


def page(runs: Sequence[Run]) -> Page:
    """Return the page and its picture."""
    replays, live = replays_in(runs), read_live(PROJECT.measured / _LIVE)
    asked, _ = judged(replays)
    long = [each for each in _late(asked[Way.FILES]) if each.replay.ready >= LONG]
    other = {run.name for run in runs if run.folder.parent.name in OTHER_MACHINES}
    later = [each for each in asked[Way.PROCESS] if each.replay.run in other]
    values = {
        "recoveries": len(replays),
        "looked_at": sum(each.process is not None for each in replays),
        "later": {"recoveries": recoveries_in(later), "off": _medians(later)},
        "shortest": f"{SHORTEST:.0f}",
        "servers": len({each.server for each in replays}),
        "files": _medians(asked[Way.FILES]),
        "log": _medians(asked[Way.LOG]),
        "live_off": _live_off(live),
        "long": {"recoveries": recoveries_in(long), "off": _quantile(long, 0.5)},
        "longest": max(each.ready for each in replays),
        "ways": [{"name": name, **_tables(asked[way])} for way, name in _WAYS.items()],
        "machine": runs[0].record().sessions[0].machine.in_words(),
        "live": live,
        "live_servers": len({each.server for each in live}),
        "live_table": live_table(live).as_markdown(),
    }
    # Of the few whose processes were sampled there is too little for a picture.
    drawn = [(name, asked[way]) for way, name in _WAYS.items() if len(asked[way]) >= _ENOUGH * len(MARKS)]
    return Page(filled(_TEMPLATE, values), [Plot(_PICTURE, partial(plot_errors, found=drawn))])


def _live_off(live: Sequence[LiveRecovery]) -> dict[str, str]:
    """Return mark → the median error of recoveries that were followed live, in words."""
    return {
        f"{mark:.0%}": f"{statistics.median(abs(each.off(said)) for each in live if (said := each.at(mark))):.0%}"
        for mark in LIVE_MARKS
    }


def _late(asked: Iterable[Asked]) -> list[Asked]:
    return [each for each in asked if each.mark > EARLY]


def _off(asked: Asked) -> float:
    return asked.off


def _values(asked: Iterable[Asked], error: Error) -> list[float]:
    return [abs(value) for each in asked if (value := error(each)) is not None]


def _quantile(asked: Iterable[Asked], share: float, error: Error = _off) -> float:
    return float(np.quantile(_values(asked, error), share))


def _medians(asked: Sequence[Asked]) -> dict[str, float]:
    """Return mark → the median error there, a share of the whole time."""
    return {f"{mark:.0%}": _quantile(rows, 0.5) for mark, rows in grouped(asked, lambda each: each.mark).items()}


def _tables(asked: Sequence[Asked]) -> dict[str, str]:
    """Return name → table in Markdown; those by server and by length are from a quarter of the time on."""
    late, sights = _late(asked), list(Knows)
    by_length = grouped(late, lambda each: bisect_right(_LENGTHS, each.replay.ready))
    by_sight = grouped(asked, lambda each: sights.index(each.left.knows))
    return {
        "marks": _marks_table(asked),
        "servers": _table("server", grouped(late, lambda each: each.replay.server).items()),
        "lengths": _table("it took", [(_length_in_words(number), rows) for number, rows in by_length.items()]),
        "sight": _table("what is seen", [(sights[number], rows) for number, rows in by_sight.items()]),
    }


def _length_in_words(number: int) -> str:
    low = format_duration(_LENGTHS[number - 1])
    return f"{low} and more" if number == len(_LENGTHS) else f"{low} to {format_duration(_LENGTHS[number])}"


_ERRORS = (
    Column[Row]("off: median", lambda row: f"{_quantile(row[1], 0.5):.0%}", right=True),
    Column[Row]("90 % within", lambda row: f"{_quantile(row[1], 0.9):.0%}", right=True),
)
_INSIDE = Column[Row]("inside the 80 %", lambda row: f"{np.mean([each.inside for each in row[1]]):.0%}", right=True)


def _marks_table(asked: Sequence[Asked]) -> str:
    def beside(heading: str, error: Error) -> Column[Row]:
        def cell(row: Row) -> str:
            median, most = (_quantile(row[1], share, error) for share in (0.5, 0.9))
            return f"{median:.0%}, {most:.0%} (of {len(_values(row[1], error))})"

        return Column[Row](heading, cell, right=True)

    columns = [
        Column[Row]("of its time", lambda row: row[0]),
        Column[Row]("recoveries", lambda row: str(len(row[1])), right=True),
        *_ERRORS,
        _INSIDE,
        beside("a straight line, where there is one", lambda each: each.straight),
        beside("this there", lambda each: None if each.straight is None else each.off),
        beside(f"{RULE_MB_S:.0f} MB/s", lambda each: each.rule),
    ]
    notes = [
        "Off: |expected end − true end| / whole time. Each recovery is predicted from other runs alone, with an 80 % "
        "interval as wide as held for servers of its kind in other runs.",
        "A straight line goes on as the phase at hand did, by the share of it that the log shows; median and 90th percentile.",
    ]
    rows = [(f"{mark:.0%}", rows) for mark, rows in grouped(asked, lambda each: each.mark).items()]
    return ReportTable.of("How far off", rows, columns, notes).as_markdown()


def _table(heading: str, rows: Iterable[Row]) -> str:
    columns = [
        Column[Row](heading, lambda row: row[0]),
        Column[Row]("recoveries", lambda row: str(recoveries_in(row[1])), right=True),
        Column[Row]("asked", lambda row: str(len(row[1])), right=True),
        *_ERRORS,
        Column[Row](
            "too late (+), too soon (−)", lambda row: f"{statistics.median(map(_off, row[1])):+.0%}", right=True
        ),
        _INSIDE,
    ]
    return ReportTable.of(heading, list(rows), columns, []).as_markdown()


def plot_errors(folder: Path, found: Sequence[tuple[str, Sequence[Asked]]]) -> None:
    """Draw a panel for each of what is at hand: how far off, over how much of the time has passed."""

    def at_marks(asked: Sequence[Asked], share: float, error: Error = _off) -> list[float]:
        """Return per cents, not a number where there are too few."""
        return [
            100 * _quantile(rows, share, error) if len(_values(rows, error)) >= _ENOUGH else math.nan
            for rows in grouped(asked, lambda each: each.mark).values()
        ]

    rows = math.ceil(len(found) / _IN_A_ROW)
    figure, panels = plt.subplots(
        rows, _IN_A_ROW, sharex=True, sharey=True, squeeze=False, figsize=(WIDTH, 3.1 * rows), layout="constrained"
    )
    for axes in panels.flat[len(found) :]:
        axes.set_visible(False)
    for axes, (where, asked) in zip(panels.flat, found, strict=False):
        marks = [100 * each for each in MARKS]
        axes.fill_between(marks, 0, at_marks(asked, 0.9), color="tab:blue", alpha=0.2, label="90 % within")
        axes.plot(marks, at_marks(asked, 0.5), "o-", color="tab:blue", label="50 % within")
        axes.plot(
            marks,
            at_marks(asked, 0.5, lambda each: each.straight),
            "s--",
            color="0.4",
            label="50 % within, by a straight line",
        )
        axes.set_title(textwrap.fill(f"{where}: {recoveries_in(asked)} recoveries", _TITLE), fontsize="small")
        axes.set_xticks(marks)
        axes.grid(alpha=0.3)
    figure.supxlabel("% of its time passed", fontsize="medium")
    figure.supylabel("expected end off by, % of the whole time", fontsize="medium")
    panels[0][0].set_ylim(0, None)
    panels[0][0].legend(loc="upper right", fontsize="small")
    figure.suptitle("How long still? How far off the expected end was while recoveries ran", fontsize="large")
    save(figure, folder / _PICTURE)
