"""The page of what rotating a slow query log does."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redolab.report.contents import Page, Plot
from redolab.report.numbers import median_with_range
from redolab.report.template import filled
from redolab.results.marks import marks_of
from redolab.runs.confounded import confounded_with_time
from redolab.runs.machines import measured_on
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.units import format_size

from ..experiment import Rotation
from ..methods import Method
from ..report import (
    Rotations,
    copied_table,
    flushed_in_words,
    flushed_table,
    lost_in_words,
    parts_table,
    plot_stalls,
    rotations,
    stalls_table,
)

_TEMPLATE = Path(__file__).with_suffix(".md")
_SMALL = 64 << 20
"""Runs whose logs are smaller look at what a server flushes: their stalls are those of no log that is rotated."""


def page(runs: Sequence[Run]) -> Page:
    """The page of all runs kept for it. The picture and the tables of times are of the logs that are worth rotating."""
    every = rotations(*runs)
    found = [each for each in every if each.step.log_file >= _SMALL] or every
    # The table has what holding the log changes.
    shown = [each for each in found if not each.step.held] or found
    values = {
        "own": _own(found),
        "lost": lost_in_words(found),
        "flushed": flushed_in_words(every),
        "copied": copied.as_markdown() if (copied := copied_table(found)) is not None else "",
        "held": _held(found),
        "unsynced": _unsynced(shown),
        "table": stalls_table(found, marks_of(runs)).as_markdown(),
        "tables": flushed_table(every).as_markdown(),
        "parts": parts_table([each for each in found if not each.step.held]).as_markdown(),
        "methods": [
            (str(method), method.about) for method in Method if any(each.step.method is method for each in every)
        ],
        "sizes": ", ".join(dict.fromkeys(format_size(each.step.log_file) for each in found)),
        "rotations": sum(len(each.trials) for each in found),
        "smaller": sum(len(each.trials) for each in every if each not in found),
        "dirty_s": _dirty(runs),
        "commands": [command(run, Rotation.factors()(), always=["server"]) for run in runs],
        "machines": measured_on(runs),
        "confounded": confounded_with_time(
            runs,
            Rotation.plan_type(),
            {
                "servers": lambda instance: instance.server,
                "storages": lambda instance: instance.storage,
                "file systems": lambda instance: instance.file_system,
            },
        ),
        "dates": ", ".join(dict.fromkeys(f"{run.record().began:%Y-%m-%d}" for run in runs)),
    }
    return Page(filled(_TEMPLATE, values), [Plot("stalls", partial(plot_stalls, found=shown))])


def _own(found: Sequence[Rotations]) -> dict[str, object]:
    """Return what `redolab slowlog rotate` did to clients."""
    own = [each for each in found if each.step.method is Method.RENAME_SYNC_FLUSH and not each.step.held]
    return {
        "longest": f"{max(max(each.during) for each in own):.0f}",
        "longest_without": f"{max(max(each.without) for each in own):.0f}",
        "rotations": sum(len(each.trials) for each in own),
        "lost": sum(trial.check.lost + trial.check.torn for each in own for trial in each.trials),
        "servers": list(dict.fromkeys(each.label for each in own)),
        "systems": list(dict.fromkeys(each.group.file_system for each in own)),
    }


def _held(found: Sequence[Rotations]) -> str:
    """What holding leaves out, and what it does to the longest time; empty where it was not tried."""
    held = [each for each in found if each.step.held]
    if not held:
        return ""
    unlogged = statistics.median(trial.check.unlogged for each in held for trial in each.trials)
    sent = statistics.median(trial.during.per_second for each in held for trial in each.trials)
    pairs = [
        (statistics.median(each.during), statistics.median(other.during))
        for each in held
        for other in found
        if not other.step.held and _but_held(each) == _but_held(other)
    ]
    better = sum(one < other for one, other in pairs)
    compared = f" The longest time was shorter with it in {better} of {len(pairs)} cells." if pairs else ""
    return f"It leaves {unlogged:,.0f} statements out of the log, those of {unlogged / sent:.1f} s.{compared}"


def _unsynced(found: Sequence[Rotations]) -> str:
    """Return a sentence on the longest stall by rename and FLUSH alone; empty where that was not tried."""
    plain = [each for each in found if each.step.method is Method.RENAME_FLUSH]
    if not plain:
        return ""
    worst = max(plain, key=lambda each: statistics.median(each.during))
    stalls = [
        f"{median_with_range(each.during, 1)} ms on {each.group.file_system}"
        for each in plain
        if each.label == worst.label
    ]
    return f"Rename and FLUSH without a sync before stalled {worst.label} for {', '.join(stalls)}."


def _but_held(each: Rotations) -> tuple[object, ...]:
    return each.machine, each.label, each.group, each.step.method, each.step.log_file


def _dirty(runs: Sequence[Run]) -> str:
    """Seconds of the load before the rotation, whose records the kernel may not have written yet."""
    options = [run.record().options for run in runs]
    return ", ".join(dict.fromkeys(str(int(each["warm_up"]) + int(each["seconds"]) + 1) for each in options))
