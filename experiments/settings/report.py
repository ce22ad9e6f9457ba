"""Report of a settings run: effects on throughput and on recovery time of settings, each changed alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import polars
from matplotlib.figure import Figure

from redolab.errors import LabError
from redolab.report.contents import Plot, Report
from redolab.report.intervals import SHARE, RelativeChange
from redolab.report.numbers import NONE
from redolab.report.plots import head
from redolab.report.quantities import Quantity
from redolab.report.table import PAGE, SCREEN, Column, ReportTable
from redolab.results.changed_settings import BASELINE, LOADS, changed_settings, effects_figure, variables_of
from redolab.results.loads import found_in
from redolab.results.marks import Off, StorageUse, disks_of, marks_of, storage_label, storage_remarks
from redolab.results.measured import by_age
from redolab.runs.factors import read_factors
from redolab.runs.frames import run_rows
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue
from redolab.workloads.catalogue import workload_catalogue

from .changes import skipped
from .experiment import Factors, Settings

Row: TypeAlias = Mapping[str, Any]
"""Level of a setting (`redolab.results.changed_settings`)."""

_MAY_BE_CHANCE = "?"
_PAIRS = {
    "ready_s": Quantity("ready", "s"),
    "latency_95_ms": Quantity("p95", "ms", 1),
    "log_waits": Quantity("log waits", places=0),
    "load_cpu_share": Quantity("CPUs busy", "%", 0, 100),
}
"""Medians of a load that the table shows with the baseline's."""
_SINGLE = {"failed_per_s": Quantity("failed/s", places=1), "load_fillings": Quantity("log filled", places=1)}


def report(run: Run) -> Report:
    """Return the answer, the table and the plot of a run. Raises `LabError` if it cannot be read."""
    trials = run_rows(Settings, run)
    if all(each["setting"] == BASELINE for each in trials):
        return Report(answer="No setting was compared with its baseline.", tables=[])
    effects = changed_settings(by_age(polars.DataFrame(trials, infer_schema_length=None)), variables_of([run]))
    levels = effects.drop("age", "place").to_dicts()
    uses = [load.storage_use for load in found_in([run]).loads]
    table = partial(settings_table, levels, uses, marks_of([run]), _left_out(run))
    disks, disk_rows = disks_of(run)
    return Report(
        answer=answer(levels),
        tables=[table()],
        details=[table(widest=PAGE), *disks],
        rows={"table": levels, **disk_rows},
        plots=[Plot("effects", partial(plot_effects, effects=effects, title=answer(levels)))],
    )


def _left_out(run: Run) -> list[str]:
    """Return the requested settings that a server does not have, and why, a sentence each."""
    try:
        factors = read_factors(Factors, run.record().options)
        dialects = {server: server_catalogue().get(server).dialect() for server in factors.server}
    except LabError:
        # This version of redolab does not know the servers, or the options.
        return []
    return [
        f"{server} was not measured with {setting}: {why}."
        for server, dialect in dialects.items()
        for setting, why in skipped(factors.varied(), dialect).items()
    ]


def answer(levels: Sequence[Row]) -> str:
    """Return the number of levels with a significant change, and the largest of the load most similar to production."""
    known = [each for each in levels if _is_known(each["chance"])]
    significant = [each for each in known if each["stands"]]
    if not known:
        return "Nothing was measured often enough to tell an effect from chance."
    recoveries = sum(each["stands_recovery"] for each in levels)
    if not significant:
        return f"None of {len(known)} levels changed throughput significantly, and {recoveries} recovery time."
    load = next(load for load in LOADS.values() if any(each["load"] == load for each in significant))
    most = max((each for each in significant if each["load"] == load), key=lambda each: abs(math.log1p(each["change"])))
    which = f"{most['setting']}={most['level'].partition(',')[0]} on {most['label']}"
    return (
        f"{len(significant)} of {len(known)} levels changed throughput significantly and {recoveries} recovery time; "
        f"{load} most by {which}, {_ratio(most, '').with_interval()}."
    )


def settings_table(
    levels: Sequence[Row], loads: Sequence[StorageUse], off: Off, left_out: Sequence[str], widest: int = SCREEN
) -> ReportTable:
    """Return a row for each level, significant changes of throughput first; `loads` ran on its storages."""
    by_lateness = sorted(loads, key=lambda each: each.late_share or 0.0)
    labels = {each.storage: storage_label(each, off) for each in by_lateness}
    workloads = [workload_catalogue().get(name) for name in dict.fromkeys(each["workload"] for each in levels)]
    several_machines = len({each["machine"] for each in levels}) > 1
    columns = [
        *([Column[Row]("machine", lambda row: row["machine"])] if several_machines else []),
        Column[Row]("server", lambda row: row["label"], shared=str),
        Column[Row]("storage", lambda row: labels.get(row["storage_base"], NONE), shared="on {}".format),
        Column[Row]("load", lambda row: row["load"]),
        Column[Row]("setting", lambda row: row["setting"]),
        Column[Row]("from", lambda row: row["before"] or NONE),
        Column[Row]("to", _level),
        Column[Row]("throughput", _throughput, right=True),
        Column[Row]("recovery", lambda row: _change(row, "_recovery"), right=True),
        *(_pair_column(name, each) for name, each in _PAIRS.items()),
        *(_column(name, each) for name, each in _SINGLE.items()),
        Column[Row]("blocks", lambda row: str(row["blocks"]), right=True, shared="{} blocks".format, spare=True),
    ]
    comparisons = sum(_is_known(each[name]) for each in levels for name in ("chance", "chance_recovery"))
    notes = [
        "Each setting changed alone from the baseline of its load. Changes of throughput (TPC-C: NOTPM; large rows and "
        "connections: a second) and of the time to ready after a crash at the load's end are against the baseline in the "
        "same blocks, with 95 % intervals.",
        "Pairs: medians, baseline → this level. log filled: times in the load; a log filled less than once never forced "
        "flushing, and a load that wrote less redo leaves less to recover.",
        f"{_MAY_BE_CHANCE}: the interval leaves out 0, but among {comparisons} comparisons chance alone may have shown it "
        f"(Holm's procedure, {100 * (1 - SHARE):.0f} %).",
        *left_out,
        *(caveat for workload in workloads for caveat in workload.caveats),
        *storage_remarks(loads, off),
    ]
    return ReportTable.brief("Settings, one at a time", levels, columns, notes, widest)


def _is_known(chance: float | None) -> bool:
    return chance is not None and not math.isnan(chance)


def _ratio(row: Row, suffix: str) -> RelativeChange:
    change, low, high = (row[f"{name}{suffix}"] for name in ("change", "low", "high"))
    return RelativeChange(change, low, high, row["blocks"])


def _change(row: Row, suffix: str) -> str:
    if row[f"change{suffix}"] is None:
        return NONE
    ratio = _ratio(row, suffix)
    return ratio.in_words() + _MAY_BE_CHANCE * (ratio.excludes_zero and not row[f"stands{suffix}"])


def _throughput(row: Row) -> str:
    if row["used"] and row["used"] == row["before"]:
        return "not in effect"
    if not row["rate"]:
        return "nothing succeeded"
    return _change(row, "") + f", nothing in {row['barren']} of {row['n']}" * bool(row["barren"])


def _level(row: Row) -> str:
    """Return a level, with the number that the server used if it is another."""
    used, asked = row["used"], row["level"].partition(",")[0]
    return f"{row['level']} (used {used})" if used[:1].isdigit() and used != asked else row["level"]


def _pair_column(name: str, quantity: Quantity) -> Column[Row]:
    def pair(row: Row) -> str:
        return f"{quantity.written(row[f'{name}_base'])} → {quantity.written(row[name])}"

    return Column(quantity.heading, pair, right=True, spare=True)


def _column(name: str, quantity: Quantity) -> Column[Row]:
    return Column(quantity.heading, lambda row: quantity.written(row[name]), right=True, spare=True)


def plot_effects(effects: polars.DataFrame, title: str) -> Figure:
    """Plot the effects of the levels."""
    figure = effects_figure(effects)
    head(figure, title.removesuffix("."), "")
    return figure
