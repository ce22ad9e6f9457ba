"""What each log changes, against no log in the same blocks: pure but for reading the runs."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redolab.models.intervals import Ratio, median_of_known, ratios
from redolab.runs.machines import machines_of
from redolab.runs.store import Run

from .logs import LOGS, NONE
from .planned import LoggingConditions, LoggingPlan
from .trial import LoggingCell, LoggingTrial


@dataclass(frozen=True, slots=True)
class Compared:
    """What all loads share that are compared with each other."""

    machine: str
    version: str
    cell: LoggingCell
    conditions: LoggingConditions


@dataclass(frozen=True, slots=True)
class MeasuredLog:
    """One load under one log."""

    key: Compared
    block: str
    trial: LoggingTrial


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEffect:
    """One log against none; rates are medians over the blocks."""

    key: Compared
    log: str
    loads: int
    base_rate: float
    """NOTPM without a log."""
    rate: float
    throughput: Ratio | None
    """None of no log itself, and where no block has both."""
    latency: float | None
    """Milliseconds, 99th percentile of a New-Order."""
    statements: float
    """A second."""
    logged_bytes: float | None
    """A second."""
    logged_lines: float | None
    """A second."""
    processor_us: float | None
    """The server's processor time for a statement, in microseconds."""


def measured_in(runs: Sequence[Run]) -> list[MeasuredLog]:
    """The loads of runs, in the order of measuring. Raises `LabError`."""
    machines = machines_of(runs)
    found = []
    for run in runs:
        plan: LoggingPlan = run.plan(LoggingPlan)
        groups = run.groups()
        for record in run.trials(LoggingTrial):
            trial, group = record.trial, plan.groups[record.group]
            machine = machines[run.name][groups[record.group].session]
            key = Compared(machine, trial.version, trial.cell, plan.conditions)
            found.append(MeasuredLog(key, f"{run.name} {group.block}", trial))
    return found


def effects(measured: Sequence[MeasuredLog]) -> list[LogEffect]:
    """A row for each log of each cell, cells as they were measured, logs in the order of `LOGS`."""
    cells: dict[Compared, list[MeasuredLog]] = defaultdict(list)
    for each in measured:
        cells[each.key].append(each)
    return [effect for key, of_cell in cells.items() for effect in _of_cell(key, of_cell)]


def _of_cell(key: Compared, measured: Sequence[MeasuredLog]) -> list[LogEffect]:
    by_log: dict[str, list[LoggingTrial]] = defaultdict(list)
    for each in measured:
        by_log[each.trial.log].append(each.trial)
    told: Mapping[str, Ratio] = ratios(
        [(each.block, each.trial.log, each.trial.new_orders_per_minute) for each in measured], NONE
    )
    base = [trial.new_orders_per_minute for trial in by_log[NONE]]
    return [
        _effect(key, log, by_log[log], statistics.median(base), told.get(log)) for log in LOGS if log in by_log and base
    ]


def _effect(
    key: Compared, log: str, trials: Sequence[LoggingTrial], base_rate: float, throughput: Ratio | None
) -> LogEffect:
    lines = [each.logged_lines / each.seconds for each in trials if each.logged_lines is not None]
    sizes = [each.logged_bytes / each.seconds for each in trials if each.logged_bytes is not None]
    busy = [1e6 * each.server_seconds / each.statements for each in trials if each.server_seconds is not None]
    return LogEffect(
        key=key,
        log=log,
        loads=len(trials),
        base_rate=base_rate,
        rate=statistics.median(each.new_orders_per_minute for each in trials),
        throughput=throughput,
        latency=median_of_known([each.latency_99_ms for each in trials]),
        statements=statistics.median(each.statements / each.seconds for each in trials),
        logged_bytes=median_of_known(sizes),
        logged_lines=median_of_known(lines),
        processor_us=median_of_known(busy),
    )
