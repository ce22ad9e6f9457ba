"""Report on the cost of logging every statement, and on the statements that a killed server's log lacks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from redolab.report.contents import Report
from redolab.report.intervals import RelativeChange
from redolab.report.numbers import median_with_interval, number, span
from redolab.report.quantities import quantities_of
from redolab.report.table import Column, ReportTable
from redolab.runs.baseline import change_column, changes_plots, compared_with_baseline
from redolab.runs.default_report import Configuration, configurations, configurations_table
from redolab.runs.store import Run

from .experiment import PluginTrial, SlowlogPlugin
from .ways import Arm, LogPlace

_BASELINE = {"arm": str(Arm.NONE), "log": str(LogPlace.NOWHERE)}
_BRIEFLY = ("per_second",)
_NOTES = (
    "against none: statements/s against the same server without a log, in the same blocks, with the 95 % interval. "
    "of built-in: the plugin's cost as a share of the built-in log's in the same place, by blocks, where the latter is "
    "significant.",
    "schema: performance_schema=ON without digests, the base of digests; all others run with performance_schema=OFF.",
)
_CPU = "CPU: the server's for a statement."
_LOST = (
    "lost: statements that were answered and are not in the log. Below zero: some were logged whose clients had not got "
    "their answers when the server was killed."
)


def report(run: Run) -> Report:
    """Return the answer, the tables and the plot of a run. Raises `LabError` if its trials cannot be read."""
    every = configurations(SlowlogPlugin, run)
    killed = [each for each in every if each.results[0].group.killed]
    asked = [each for each in every if not each.results[0].group.killed]
    found = compared_with_baseline(asked, "per_second", _BASELINE)
    said = answer(found)
    return Report(
        answer=said,
        tables=[*([costs_table(found, _BRIEFLY)] if found else []), *([killed_table(killed)] if killed else [])],
        details=[costs_table(found, list(quantities_of(PluginTrial)))] if found else [],
        plots=changes_plots("costs", found, _BASELINE, "change of statements/s", said),
    )


def answer(found: Sequence[Configuration]) -> str:
    """Return a sentence: the built-in log's cost where it is significant, and the plugin's in the same configurations.

    Logs lie on a disk if that was measured.
    """
    place = LogPlace.DISK if any(each.factors["log"] == LogPlace.DISK for each in found) else LogPlace.TMPFS
    built_in, plugin = (
        {
            (each.factors["server"], each.factors["connections"]): each.change
            for each in found
            if (each.factors["arm"], each.factors["log"]) == (arm, place) and each.change is not None
        }
        for arm in (Arm.BUILT_IN, Arm.PLUGIN)
    )
    if not built_in:
        return "The built-in log was not compared with none."
    costly = {key: change for key, change in built_in.items() if change.high < 0}
    if not costly:
        return f"The built-in log took no significant throughput (0 of {len(built_in)} configurations)."
    there = [plugin[key] for key in costly if key in plugin]
    beside = f", the plugin there {_taken(there)} (significant in {sum(each.excludes_zero for each in there)})"
    return (
        f"The built-in log took {_taken(list(costly.values()))} of SELECT 1's throughput where significant "
        f"({len(costly)} of {len(built_in)} configurations){beside if there else ''}."
    )


def _taken(changes: Sequence[RelativeChange]) -> str:
    """Write costs as shares of the throughput without a log, as in `12 to 14 %`."""
    return f"{span([-100 * each.change for each in changes], 0)} %"


def costs_table(found: Sequence[Configuration], names: Sequence[str]) -> ReportTable:
    """Return a row for each way of logging, server and number of clients, with these quantities."""
    quantities = quantities_of(PluginTrial)
    shown = {name: quantities[name] for name in names}
    of_built_in = Column[Configuration]("of built-in", partial(_of_built_in, found=found), right=True)
    more = [change_column("against none"), of_built_in]
    notes = [*_NOTES, _CPU] if "cpu_us" in names else _NOTES
    return configurations_table("What logging every statement costs", found, shown, notes, more)


def killed_table(killed: Sequence[Configuration]) -> ReportTable:
    """Return the statements that the logs of killed servers lack."""
    more = [
        Column[Configuration]("buffer, B", lambda row: number(row.results[0].trial.buffer_bytes, 0), right=True),
        Column[Configuration]("lost each time", lambda row: ", ".join(str(each.trial.lost) for each in row.results)),
    ]
    return configurations_table("Lines lost at SIGKILL", killed, {}, [_LOST], more)


def _of_built_in(row: Configuration, found: Sequence[Configuration]) -> str:
    """Write a plugin's cost as a share of a significant cost of the built-in log, as in `0.42 (0.35–0.50)`."""
    none, built_in = (
        next((each for each in found if each.factors == {**row.factors, **other}), None)
        for other in (_BASELINE, {"arm": str(Arm.BUILT_IN)})
    )
    if none is None or built_in is None or not Arm(row.factors["arm"]).is_plugin:
        return ""
    if built_in.change is None or not built_in.change.high < 0:
        return ""
    speeds = [{each.block: each.trial.per_second for each in of.results} for of in (none, built_in, row)]
    blocks = set.intersection(*(set(each) for each in speeds))
    others, own = ([1 - speed[block] / speeds[0][block] for block in blocks] for speed in speeds[1:])
    return median_with_interval([cost / other for cost, other in zip(own, others, strict=True)])
