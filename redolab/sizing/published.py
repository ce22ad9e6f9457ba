"""Published recoveries beside ours, from where the server knows that it must recover to the end of rollback."""

from __future__ import annotations

import statistics
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.crashes.outcome import Outcome
from redolab.crashes.recovery import RecoveryTrial
from redolab.project import PROJECT
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable
from redolab.runs.store import Run
from redolab.timeline import Phase, Timeline
from redolab.units import GIB, format_duration, format_size

LOG_SIZE = 8 * GIB
"""Bytes of the redo log of the published recoveries."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Recoveries of one server with one log on one storage, in seconds."""

    source: str
    server: str
    storage: str
    log: str
    pool: str
    seconds: Sequence[float]


_BULK = (
    "Ours: a redo log of 8G filled by bulk-update, on the machine of these pages. Both from the line with which the server notes "
    "the crash to the end of rollback: other redo, other hardware, the same definition."
)


def published_beside_ours(runs: Sequence[Run], *, ours: str = _BULK, smallest: int = LOG_SIZE) -> ReportTable:
    """The published recoveries, then those of these runs with a log of no less than `smallest` bytes.

    `ours`: what is said of these. Raises `LabError` if a run cannot be read.
    """
    known = tomllib.loads((PROJECT.published / "recovery-2010.toml").read_text())
    rows = [
        Compared("published", crash["server"], crash["storage"], "8G", crash["buffer_pool"], [float(crash["seconds"])])
        for crash in known["crash"]
    ]
    columns = [
        Column[Compared]("", lambda row: row.source),
        Column[Compared]("server", lambda row: row.server),
        Column[Compared]("storage", lambda row: row.storage),
        Column[Compared]("redo log", lambda row: row.log, right=True),
        Column[Compared]("pool", lambda row: row.pool, right=True),
        Column[Compared]("to the end of rollback", _seconds, right=True),
        Column[Compared]("n", lambda row: str(len(row.seconds)), right=True),
    ]
    notes = [
        f"Published: {known['source']}; tpcc with 1,000 warehouses, a redo log of 8G, by the stamps in its error logs (2010).",
        ours,
    ]
    return ReportTable.of("Published figures beside ours", [*rows, *_ours(runs, smallest)], columns, notes)


def _ours(runs: Sequence[Run], smallest: int) -> list[Compared]:
    found: dict[tuple[str, int, str, int], list[float]] = defaultdict(list)
    for run in runs:
        for record in run.trials(RecoveryTrial):
            trial = record.trial
            if (
                smallest <= trial.log_size <= LOG_SIZE
                and trial.outcome is Outcome.READY
                and not trial.settings
                and trial.timeline
            ):
                seconds = _from_the_crash_noted(trial.timeline)
                if seconds is not None:
                    label = server_label(trial.server, trial.version.split("-")[0])
                    found[label, trial.log_size, trial.storage, trial.buffer_pool].append(seconds)
    return [
        Compared("ours", server, storage, format_size(log_size), format_size(pool), seconds)
        for (server, log_size, storage, pool), seconds in found.items()
    ]


def _from_the_crash_noted(timeline: Timeline) -> float | None:
    """Without what comes before the published logs begin."""
    before = next((time.seconds for time in timeline.phases if time.phase is Phase.DISCOVER), None)
    return None if timeline.seconds is None or before is None else timeline.seconds - before


def _seconds(row: Compared) -> str:
    middle = format_duration(statistics.median(row.seconds))
    if len(row.seconds) == 1:
        return middle
    return f"{middle} ({format_duration(min(row.seconds))}–{format_duration(max(row.seconds))})"
