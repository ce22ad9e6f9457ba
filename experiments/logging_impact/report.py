"""Report on the cost of logging queries: answer, table and plot."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence

from redolab.project import PROJECT
from redolab.report.contents import Report
from redolab.report.numbers import percent
from redolab.report.quantities import quantities_of
from redolab.report.table import Column
from redolab.runs.baseline import change_column, changed_in_words, changes_plots, compared_with_baseline
from redolab.runs.default_report import Configuration, configurations, configurations_table
from redolab.runs.store import Run
from redolab.units import format_duration, format_size

from .experiment import LoggingImpact, LoggingTrial
from .logs import LOGS, NONE, TO_NULL

_BASELINE = {"logs": NONE}
_BRIEFLY = ("new_orders_per_minute", "logged_bytes_per_second", "cpu_s_per_statement")
_P99 = "p99: median over the seconds of a New-Order's 99th percentile."
_PUBLISHED = {"over_1s": "over-1s", "all": "all"}


def report(run: Run) -> Report:
    """Return the answer, the table and the plot of a run. Raises `LabError` if its trials cannot be read."""
    found = compared_with_baseline(configurations(LoggingImpact, run), "new_orders_per_minute", _BASELINE)
    conditions = run.plan(LoggingImpact.plan_type).conditions
    published = published_ratios()

    def published_change(row: Configuration) -> str:
        group, step = row.results[0].group, row.results[0].step
        key = step.log, group.connections, group.pool_bytes >= conditions.tables
        return percent(published[key] - 1, 0) if key in published else ""

    notes = [
        f"TPC-C by go-tpc, {conditions.warehouses} warehouses, redo log {format_size(conditions.log_size)}, "
        f"innodb_flush_log_at_trx_commit=1. Windows of {format_duration(conditions.seconds)}; each block has every log "
        "once.",
        "against none: NOTPM against no log in the same blocks, with the 95 % interval. CPU: the server's for a statement.",
        "; ".join(f"{log}: {LOGS[log].about}" for log in dict.fromkeys(each.factors["logs"] for each in found)) + ".",
    ]
    more = [change_column("against none")]
    if any(map(published_change, found)):
        more.append(Column("published", published_change, right=True))
        notes.append("published: by A. Kuzminsky, 2009.")
    quantities = quantities_of(LoggingTrial)
    brief = {name: quantities[name] for name in _BRIEFLY}
    title = "What logging queries costs"
    return Report(
        answer=answer(found),
        tables=[configurations_table(title, found, brief, notes, more)],
        details=[configurations_table(title, found, quantities, [*notes, _P99], more)],
        plots=changes_plots("costs", found, _BASELINE, "change of NOTPM", answer(found)),
    )


def answer(found: Sequence[Configuration]) -> str:
    """Return a sentence: change of throughput with every statement logged, or else with the first log."""
    compared = [each for each in found if each.change is not None]
    logs = [each.factors["logs"] for each in compared]
    if not logs:
        return "No log was compared with none."
    log = "all" if "all" in logs else logs[0]
    changed = changed_in_words([each for each in compared if each.factors["logs"] == log])
    what = "every statement in the slow query log" if log == "all" else f"the log '{log}'"
    return f"With {what}, NOTPM changed by {changed} against no log."


def published_ratios() -> Mapping[tuple[str, int, bool], float]:
    """Return A. Kuzminsky's points (data/published/query-logs.toml).

    (Log, clients, whether the tables fit the buffer pool) → throughput as a share of that without a log.
    """
    known = tomllib.loads((PROJECT.published / "query-logs.toml").read_text())["impact"]["measured"]
    return {
        (TO_NULL if is_to_null else log, row["connections"], fits): row[name] / row["none"]
        for case in known
        for is_to_null, fits in [("/dev/null" in case["case"], "I/O-bound" not in case["case"])]
        for row in case["rows"]
        for name, log in _PUBLISHED.items()
        if name in row
    }
