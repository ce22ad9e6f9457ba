"""Published recoveries and ours, from the server's notice of the crash to the end of rollback."""

from __future__ import annotations

import statistics
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.crash.records.recovery import Outcome
from redolab.errorlog import Phase, Timeline
from redolab.project import PROJECT
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable
from redolab.results.alike import keyed_recoveries
from redolab.results.comparison_key import grouped
from redolab.runs.store import Run
from redolab.units import GIB, format_duration, format_size

_LOG_SIZE = 8 * GIB
"""Bytes of the redo log of the published recoveries."""


@dataclass(frozen=True, slots=True)
class ComparedRecovery:
    """Recoveries of one server with one log on one storage, in seconds."""

    source: str
    server: str
    storage: str
    log: str
    pool: str
    seconds: Sequence[float]
    machine: str = ""


def published_beside_ours(runs: Sequence[Run]) -> ReportTable:
    """Return the published recoveries, then those of these runs with a log of the same size.

    Raises `LabError` if a run cannot be read.
    """
    known = tomllib.loads((PROJECT.published / "recovery-2010.toml").read_text())
    rows = [
        ComparedRecovery(
            "published", crash["server"], crash["storage"], "8G", crash["buffer_pool"], [float(crash["seconds"])]
        )
        for crash in known["crash"]
    ]
    rows += _ours(runs)
    several = len({row.machine for row in rows if row.machine}) > 1
    columns = [
        Column[ComparedRecovery]("", lambda row: row.source),
        *([Column[ComparedRecovery]("machine", lambda row: row.machine or "–")] if several else []),
        Column[ComparedRecovery]("server", lambda row: row.server),
        Column[ComparedRecovery]("storage", lambda row: row.storage),
        Column[ComparedRecovery]("redo log", lambda row: row.log, right=True),
        Column[ComparedRecovery]("pool", lambda row: row.pool, right=True),
        Column[ComparedRecovery]("to the end of rollback", _seconds, right=True),
        Column[ComparedRecovery]("n", lambda row: str(len(row.seconds)), right=True),
    ]
    notes = [
        f"Published: {known['source']}; tpcc with 1,000 warehouses, a redo log of 8G, by the stamps in its error logs (2010).",
        "Ours: a redo log of 8G filled by bulk-update, on the machine of these pages. Both from the line with which the server notes "
        "the crash to the end of rollback: other redo, other hardware, the same definition.",
    ]
    return ReportTable.of("Published figures beside ours", rows, columns, notes)


def _ours(runs: Sequence[Run]) -> list[ComparedRecovery]:
    measured = [
        (each.key, (each.trial, seconds))
        for each in keyed_recoveries(runs)
        if each.trial.log_size == _LOG_SIZE
        if each.trial.outcome is Outcome.READY and not each.trial.settings and each.trial.timeline is not None
        if (seconds := _from_the_crash_noted(each.trial.timeline)) is not None
    ]
    return [
        ComparedRecovery(
            source="ours",
            server=server_label(first.server, first.version),
            storage=first.storage,
            log=format_size(first.log_size),
            pool=format_size(first.buffer_pool),
            seconds=[seconds for _, seconds in of_key],
            machine=key.machine.in_words(),
        )
        for key, of_key in grouped(measured).items()
        for first in (of_key[0][0],)
    ]


def _from_the_crash_noted(timeline: Timeline) -> float | None:
    """Return the seconds after crash discovery, where the published logs begin; None if the log has no such phase."""
    before = next((time.seconds for time in timeline.phases if time.phase is Phase.DISCOVER), None)
    return None if timeline.seconds is None or before is None else timeline.seconds - before


def _seconds(row: ComparedRecovery) -> str:
    middle = format_duration(statistics.median(row.seconds))
    if len(row.seconds) == 1:
        return middle
    return f"{middle} ({format_duration(min(row.seconds))}–{format_duration(max(row.seconds))})"
