"""`redolab fleet`: for each server, its recovery time, whether that is short enough, and the size to set instead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import msgspec
import numpy as np

from redolab.errors import InvalidInput
from redolab.predict.advising import CrashTime, SizeLine, Sizing
from redolab.predict.asking import model_for
from redolab.predict.demand import Demand, with_dirty_pages
from redolab.predict.log_size import Basis, Limits
from redolab.predict.question import Question
from redolab.predict.recovery import recovery_at
from redolab.predict.trade import Trades
from redolab.units import format_duration, format_size, parse_duration
from redolab.watch.monitoring.demand import demand_of_monitored, log_size_of
from redolab.watch.monitoring.fleet_file import Rule, rule_for
from redolab.watch.monitoring.servers import MonitoredServer, Span

_AGES = slice(2, None, 4)
"""Choice of 25 of 101 ordered checkpoint ages, the middle of each share, which takes a fifth of the time."""
_WHY = {
    Basis.THROUGHPUT: "the smallest that loses hardly any throughput",
    Basis.HOUR: "the smallest that holds an hour of peak redo",
    Basis.TIME: "the largest that recovers in time",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetQuestion:
    """Question about every server, unless a rule of a fleet file says otherwise."""

    limits: Limits
    storage: str
    workload: str | None = None
    crash_time: CrashTime = CrashTime.ANY
    server_rules: Sequence[Rule] = ()
    from_os_log_written: bool = False


class FleetRow(msgspec.Struct, frozen=True, kw_only=True):
    """A server, for programs; sizes in bytes, times in seconds. None: unknown."""

    server: str
    version: str
    storage: str
    workload: str | None = None
    rto_s: float
    buffer_pool: int | None
    log_size: int | None
    """Size of the redo log today."""
    redo_per_hour: float | None = None
    """Bytes of redo in the busiest hour."""
    checkpoint_age_95: int | None = None
    """Checkpoint age in bytes that 95 % of times stay below."""
    now_s: float | None = None
    """Recovery time after a crash at the end of the period, at the last checkpoint age that it told: typical."""
    now_95_s: float | None = None
    """95 % upper bound of `now_s`."""
    usual_s: float | None = None
    """Recovery time after a crash at a random time: typical."""
    usual_95_s: float | None = None
    """95 % upper bound of `usual_s`; infinite if a larger share than the bound allows gets stuck."""
    worst_s: float | None = None
    """Recovery time with the log full: typical."""
    worst_95_s: float | None = None
    """95 % upper bound of `worst_s`."""
    bound_s: float | None = None
    """Upper bound, of the two, that the recovery time objective is compared with."""
    chance_too_long: float | None = None
    """Probability that a recovery takes longer than `rto_s`."""
    meets_rto: bool | None = None
    size: int | None = None
    """The size to set; None if no size recovers in time, or nothing is known."""
    size_95_s: float | None = None
    """The 95 % upper bound with that size."""
    hours_held: float | None = None
    """Hours of peak redo that the log holds today."""
    size_hours_held: float | None = None
    """Hours of peak redo that a log of `size` holds."""
    reason: str
    """Reason for that size, or for the lack of one."""
    effect: str = ""
    """Gain or cost of that size."""
    tables: int | None = None
    binary_log: bool | None = None
    days: int = 0
    """Whole days that were looked at."""
    warnings: str = ""
    change: str = ""
    """Change since the run that this one is compared with."""

    @property
    def overrun(self) -> float:
        """Times the recovery time objective that the 95 % upper bound is; -1 where it is not known."""
        return -1.0 if self.bound_s is None else self.bound_s / self.rto_s

    @property
    def is_late_now(self) -> bool:
        """True if the upper bound of a recovery after a crash at the end of the period is beyond the objective."""
        return self.now_95_s is not None and self.now_95_s > self.rto_s


def fleet_rows(
    servers: Sequence[MonitoredServer], question: FleetQuestion, span: Span, trades: Trades | None = None
) -> list[FleetRow]:
    """Return a row for each server: those that miss their recovery time most first, unknown ones last."""
    rows = [_row(server, question, span, trades) for server in servers]
    return sorted(rows, key=lambda each: (-each.overrun, each.server))


def _row(server: MonitoredServer, question: FleetQuestion, span: Span, trades: Trades | None) -> FleetRow:
    rule = rule_for(server.labels, question.server_rules)
    limits = question.limits if rule.rto is None else replace(question.limits, rto=parse_duration(rule.rto))
    unknown = FleetRow(
        server=server.name,
        version=server.version,
        storage=rule.storage or question.storage,
        rto_s=limits.rto,
        buffer_pool=server.pool,
        log_size=None,
        reason="",
        tables=server.tables,
        binary_log=None if server.binary_log is None else server.binary_log > 0,
    )
    try:
        log_size = log_size_of(server)
        unknown = msgspec.structs.replace(unknown, log_size=log_size)
        demand = demand_of_monitored(server, span, from_os_log_written=question.from_os_log_written)
        if log_size is None:
            raise InvalidInput("no metric tells the size of its redo log")
        if demand.redo_per_hour <= 0:
            raise InvalidInput("no redo was written")
        if server.pool is None:
            raise InvalidInput(f"no metric tells the buffer pool of {server.name}")
        model = _model(
            Question(
                server=server.server,
                storage=unknown.storage,
                pool=server.pool,
                workload=rule.workload or question.workload,
                tables=server.tables,
                read_threads=server.read_threads,
                binary_log=server.binary_log,
            )
        )
        demand = with_dirty_pages(demand, model, server.dirty_pages)
    except InvalidInput as error:
        return msgspec.structs.replace(unknown, reason=error.problem)
    thinned = replace(demand, ages=demand.ages[_AGES])
    row = _with_prediction(unknown, demand, Sizing(model, thinned, limits, trades, question.crash_time))
    if not server.ages:
        return row
    last = min(server.ages[-1], model.worst_age(log_size))
    found = recovery_at(model, log_size, last)
    return msgspec.structs.replace(row, now_s=found.seconds, now_95_s=found.ninety[1])


_model = lru_cache(maxsize=None)(model_for)
"""The same model for all servers of one version with one pool."""


def _with_prediction(row: FleetRow, demand: Demand, sizing: Sizing) -> FleetRow:
    """Return the server's row, completed with its predicted recovery times and the log size to set."""
    now, then, crash_time = sizing.line(row.log_size), sizing.line(sizing.advice.size), sizing.crash_time
    row = msgspec.structs.replace(
        row,
        workload=sizing.model.workload,
        redo_per_hour=demand.redo_per_hour,
        checkpoint_age_95=int(np.quantile(demand.ages, 0.95)) if demand.ages else None,
        reason="no size recovers in time" if sizing.advice.basis is None else _WHY[sizing.advice.basis],
        effect=_effect(now, then, crash_time),
        days=demand.days,
        warnings="; ".join(demand.warnings),
    )
    if now is not None:
        row = msgspec.structs.replace(
            row,
            usual_s=now.usual and now.usual.half_s,
            usual_95_s=now.usual and now.usual.ninety_five_s,
            worst_s=now.recovery_s,
            worst_95_s=now.ninety.high_s,
            bound_s=_bound(now, crash_time),
            chance_too_long=now.chance,
            meets_rto=now.chance < sizing.limits.chance,
            hours_held=now.minutes_held / 60,
        )
    if then is not None:
        row = msgspec.structs.replace(
            row, size=then.log_size, size_95_s=_bound(then, crash_time), size_hours_held=then.minutes_held / 60
        )
    return row


def _effect(now: SizeLine | None, then: SizeLine | None, crash_time: CrashTime) -> str:
    """Return the gain or cost of the size to set, in words."""
    if then is None:
        return ""
    after = _seconds(_bound(then, crash_time))
    if now is None:
        return f"95 % upper bound {after}"
    if now.log_size == then.log_size:
        return "as it is"
    holds = f"holds {_hours(then)} of peak redo instead of {_hours(now)}"
    return f"95 % upper bound {after} instead of {_seconds(_bound(now, crash_time))}; {holds}"


def _bound(line: SizeLine, crash_time: CrashTime) -> float:
    return line.ninety.high_s if line.usual is None or crash_time is CrashTime.WORST else line.usual.ninety_five_s


def _hours(line: SizeLine) -> str:
    return f"{line.minutes_held / 60:.1f} h"


def _seconds(seconds: float) -> str:
    return "for ever (too many get stuck)" if math.isinf(seconds) else format_duration(seconds)


def since(rows: Sequence[FleetRow], before: Mapping[str, FleetRow]) -> list[FleetRow]:
    """Return the rows with what changed since an earlier run, of which the rows are given by server."""
    return [msgspec.structs.replace(row, change=_change(row, before.get(row.server))) for row in rows]


def _change(row: FleetRow, before: FleetRow | None) -> str:
    if before is None:
        return "new"
    changes = []
    if row.log_size != before.log_size:
        changes.append(f"log was {_size(before.log_size)}")
    if row.meets_rto != before.meets_rto:
        known = {True: "met its recovery time", False: "missed its recovery time", None: "was not known"}
        changes.append(known[before.meets_rto])
    if row.size != before.size:
        changes.append(f"to set was {_size(before.size)}")
    return ", ".join(changes)


def _size(size: int | None) -> str:
    return "none" if size is None else format_size(size)
