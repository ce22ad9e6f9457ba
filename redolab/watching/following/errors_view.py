"""`redolab follow --errors`: how far off the time left was, of recoveries that were recorded, and what they tell of others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import msgspec
import numpy as np
from rich.console import Console

from redolab.errors import InvalidInput
from redolab.machine.files import write_whole
from redolab.models.time_left import Knows, Way
from redolab.report.table import Column, ReportTable
from redolab.units import format_duration
from redolab.watching.following.judged import EARLY, RULE_MB_S, Asked, Judgement, judged
from redolab.watching.following.replayed import SHORTEST, replays

LONG = 600.0
"""Seconds from which on a recovery is a long one."""
_ENDS = (60.0, 150.0, 300.0, LONG, math.inf)
"""Seconds at which the lengths of recoveries that are shown together end."""


def show_errors(console: Console, output: Path | None) -> None:
    """Follow every recorded recovery again, print how far off it was, and keep in a file what they tell of others.

    Raises `InvalidInput` if none is recorded.
    """
    found = replays()
    if not found:
        raise InvalidInput(f"no recovery of {SHORTEST:.0f} s and more is recorded", "see data/measured")
    judgement = judged(found)
    for where, asked in ways(judgement):
        console.print(f"\nHow far off, {where}", style="bold", highlight=False, markup=False)
        marks_table(asked).show(console)
        by_server_table(asked).show(console)
        by_length_table(asked).show(console)
        by_sight_table(asked).show(console)
    if output is not None:
        write_whole(output, msgspec.json.encode(judgement.experience) + b"\n")
        console.print(f"what they tell of others is in {output}", highlight=False, markup=False, soft_wrap=True)


def ways(judgement: Judgement) -> list[tuple[str, Sequence[Asked]]]:
    """What `follow` may have at hand, in words, and how that went; without those that nothing was judged of."""
    known = [
        (
            "by the log, the redo log files and the process, as on the server's own machine",
            judgement.asked[Way.PROCESS],
        ),
        (
            "by the redo log files and the process alone, as of a server that logs nothing before it is ready",
            judgement.asked[Way.PROCESS_ALONE],
        ),
        ("by the log and the redo log files", judgement.asked[Way.FILES]),
        ("by the log alone", judgement.asked[Way.LOG]),
    ]
    return [each for each in known if each[1]]


def marks_table(asked: Sequence[Asked]) -> ReportTable:
    """A row for each mark."""
    columns = [
        Column[list[Asked]]("of its time", lambda rows: f"{rows[0].mark:.0%}"),
        Column[list[Asked]]("recoveries", lambda rows: str(len(rows)), right=True),
        Column[list[Asked]]("off: median", lambda rows: _middle(rows, _off), right=True),
        Column[list[Asked]]("90 % within", lambda rows: _most(rows, _off), right=True),
        Column[list[Asked]](
            "inside the 80 %", lambda rows: f"{np.mean([each.inside for each in rows]):.0%}", right=True
        ),
        Column[list[Asked]](
            "a straight line, where there is one", lambda rows: _beside(rows, lambda each: each.straight), right=True
        ),
        Column[list[Asked]](
            "this there", lambda rows: _beside([e for e in rows if e.straight is not None], _off), right=True
        ),
        Column[list[Asked]](f"{RULE_MB_S:.0f} MB/s", lambda rows: _beside(rows, lambda each: each.rule), right=True),
    ]
    return ReportTable.of(
        "How far off",
        _grouped(asked, lambda each: f"{each.mark}"),
        columns,
        [
            "Off: |expected end − true end| / whole time. Each recovery is predicted from other runs alone, with an 80 % "
            "interval as wide as held for servers of its kind in other runs.",
            "A straight line goes on as the phase at hand did, by the share of it that the log shows; median and 90th percentile.",
        ],
    )


def by_server_table(asked: Sequence[Asked]) -> ReportTable:
    """A row for each server: medians from a quarter of its time on."""
    late = [each for each in asked if each.mark > EARLY]
    return _table(
        "By server, from a quarter on",
        "server",
        _grouped(late, lambda each: each.replay.server),
        lambda rows: rows[0].replay.server,
    )


def by_length_table(asked: Sequence[Asked]) -> ReportTable:
    """Return a table with a row for recoveries of about the same length, from a quarter of their time on."""
    late = [each for each in asked if each.mark > EARLY]
    shorter = [SHORTEST, *_ENDS[:-1]]
    groups = [
        (low, high, [each for each in late if low <= each.replay.ready < high])
        for low, high in zip(shorter, _ENDS, strict=True)
    ]
    names = {id(rows): _length_in_words(low, high) for low, high, rows in groups}
    return _table(
        "By how long it took, from a quarter on",
        "it took",
        [rows for _, _, rows in groups if rows],
        lambda rows: names[id(rows)],
    )


def _length_in_words(low: float, high: float) -> str:
    if math.isinf(high):
        return f"{format_duration(low)} and more"
    return f"{format_duration(low)} to {format_duration(high)}"


def by_sight_table(asked: Sequence[Asked]) -> ReportTable:
    """A row for what can be seen of a recovery."""
    order = {each: number for number, each in enumerate(Knows)}
    rows = sorted(_grouped(asked, lambda each: str(each.left.knows)), key=lambda group: order[group[0].left.knows])
    return _table("By what is seen", "what is seen", rows, lambda group: str(group[0].left.knows))


def _table(title: str, head: str, groups: Sequence[list[Asked]], name: Callable[[list[Asked]], str]) -> ReportTable:
    columns = [
        Column[list[Asked]](head, name),
        Column[list[Asked]]("recoveries", lambda rows: str(len({id(each.replay) for each in rows})), right=True),
        Column[list[Asked]]("asked", lambda rows: str(len(rows)), right=True),
        Column[list[Asked]]("off: median", lambda rows: _middle(rows, _off), right=True),
        Column[list[Asked]]("90 % within", lambda rows: _most(rows, _off), right=True),
        Column[list[Asked]](
            "too late (+), too soon (−)", lambda rows: f"{median(each.off for each in rows):+.0%}", right=True
        ),
        Column[list[Asked]](
            "inside the 80 %", lambda rows: f"{np.mean([each.inside for each in rows]):.0%}", right=True
        ),
    ]
    return ReportTable.of(title, groups, columns, [])


def _grouped(asked: Sequence[Asked], key: Callable[[Asked], str]) -> list[list[Asked]]:
    return [[each for each in asked if key(each) == value] for value in sorted({key(each) for each in asked})]


def _off(asked: Asked) -> float | None:
    return asked.off


def _values(rows: Sequence[Asked], of: Callable[[Asked], float | None]) -> list[float]:
    return [abs(value) for each in rows if (value := of(each)) is not None]


def _middle(rows: Sequence[Asked], of: Callable[[Asked], float | None]) -> str:
    values = _values(rows, of)
    return f"{median(values):.0%}" if values else "–"


def _most(rows: Sequence[Asked], of: Callable[[Asked], float | None]) -> str:
    values = _values(rows, of)
    return f"{np.quantile(values, 0.9):.0%}" if values else "–"


def _beside(rows: Sequence[Asked], of: Callable[[Asked], float | None]) -> str:
    values = _values(rows, of)
    return f"{_middle(rows, of)}, {_most(rows, of)} (of {len(values)})" if values else "–"
