"""`redolab fit`: a calibration from runs of recoveries, and how far its predictions are off on what they had not seen."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from redolab.crashes.bench import storages_of
from redolab.crashes.observations import disk_figures, observations_of, rollback_rates
from redolab.crashes.outcome import Outcome
from redolab.crashes.recovery import RecoveryTrial
from redolab.errors import InvalidInput
from redolab.models.recovery_time.fit import Observation, disk_rates, fit
from redolab.models.recovery_time.held_out import HeldOut, Judged, judged
from redolab.models.recovery_time.spread import Spread, coverage, interval, spread_of
from redolab.models.recovery_time.terms import TERMS
from redolab.report.table import Column, ReportTable
from redolab.runs.store import Run
from redolab.servers.known import server_catalogue
from redolab.sizing.calibration import (
    CALIBRATION_FORMAT,
    CalibratedServer,
    CalibratedStorage,
    Calibration,
    calibrated_server,
    spreads_of,
)

Rate: TypeAlias = tuple[str, str, str, Callable[[CalibratedServer], float | None]]
"""A row of the rates: part, what it is, its unit, and how it is read."""

NINETY = 0.9
_ALL = "all"


@dataclass(frozen=True, slots=True)
class FittedRuns:
    """What runs of recoveries taught, and its errors."""

    calibration: Calibration
    judged: Sequence[Judged]


def fit_runs(runs: Sequence[Run]) -> FittedRuns:
    """A calibration from these runs of one machine. Raises `LabError`, or `InvalidInput` if they hold no recovery to learn from."""
    observations = observations_of(runs)
    if not observations:
        raise InvalidInput(
            "these runs have no recovery to learn from",
            "it takes some that ended well, on storages that fio looked at (CHECKDISKS=on)",
        )
    found = judged(observations, _family)
    rolled_back = rollback_rates(runs)
    versions = {record.trial.server: record.trial.version for run in runs for record in run.trials(RecoveryTrial)}
    by_server = {
        server: [each for each in observations if each.server == server]
        for server in dict.fromkeys(each.server for each in observations)
    }
    servers = {
        server: calibrated_server(
            own,
            family=_family(server),
            version=versions[server].split("-")[0],
            rows_per_s=rolled_back.get(server),
            stuck=_stuck(runs, server),
            disk_rates=_disk_rates(server, by_server),
        )
        for server, own in by_server.items()
    }
    last = runs[-1].record().sessions[-1]
    calibration = Calibration(
        format=CALIBRATION_FORMAT,
        made=max(record.trial.started for run in runs for record in run.trials(RecoveryTrial)),
        commit=last.commit or "",
        machine=last.machine,
        storages=_storages(runs, observations),
        servers=servers,
        spreads=spreads_of(found),
        runs=tuple(run.name for run in runs),
    )
    return FittedRuns(calibration, found)


def _disk_rates(server: str, by_server: Mapping[str, Sequence[Observation]]) -> Mapping[str, float]:
    """For a server that was measured on one disk: what its family says of disks. Nothing for any other."""
    if len({each.disk for each in by_server[server]}) > 1:
        return {}
    relatives = [
        fit(own)
        for other, own in by_server.items()
        if _family(other) == _family(server) and len({each.disk for each in own}) > 1
    ]
    return disk_rates(relatives)


def _stuck(runs: Sequence[Run], server: str) -> int:
    """How many of its recoveries with its own settings got stuck."""
    trials = [record.trial for run in runs for record in run.trials(RecoveryTrial)]
    return sum(each.server == server and each.outcome is Outcome.STUCK and not each.settings for each in trials)


def _family(server: str) -> str:
    return server_catalogue().get(server).family


def _storages(runs: Sequence[Run], observations: Sequence[Observation]) -> dict[str, CalibratedStorage]:
    used = {each.storage for each in observations}
    return {
        record.storage: CalibratedStorage(about=record.about, disk=disk_figures(record.check.got))
        for run in runs
        for record in storages_of(run).records
        if record.check is not None and record.storage in used
    }


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """How far predictions of one kind were off, for one server or for all."""

    held_out: HeldOut
    server: str
    errors: Sequence[Judged]
    inside: int
    """Of how many the 90 % interval held the measured time."""
    judged_by_interval: int

    @property
    def median(self) -> float:
        """Absolute error as a share of the measured time."""
        return statistics.median(abs(each.relative) for each in self.errors)

    @property
    def worst(self) -> Judged:
        """The prediction that was farthest off."""
        return max(self.errors, key=lambda each: abs(each.error))


def error_rows(found: Sequence[Judged]) -> list[ErrorRow]:
    """A row for each kind and server, after one for all servers."""
    rows = []
    for kind in HeldOut:
        of_kind = [each for each in found if each.held_out is kind]
        servers = list(dict.fromkeys(each.observation.server for each in of_kind))
        inside = {server: _inside(of_kind, server) for server in servers}
        if len(servers) > 1:
            rows.append(ErrorRow(kind, _ALL, of_kind, sum(inside.values()), len(of_kind)))
        for server in servers:
            own = [each for each in of_kind if each.observation.server == server]
            rows.append(ErrorRow(kind, server, own, inside[server], len(own)))
    return rows


def _inside(of_kind: Sequence[Judged], server: str) -> int:
    """How many measured times of a server lie in the interval that the errors on the other servers give.

    The server's own errors would be judged by themselves; with one server alone there are no others.
    """
    own = [each for each in of_kind if each.observation.server == server]
    others = [each.error for each in of_kind if each.observation.server != server]
    spread = spread_of(others or [each.error for each in own])
    return sum(_holds(each, spread) for each in own)


def _holds(each: Judged, spread: Spread) -> bool:
    low, high = interval(each.predicted, spread, NINETY)
    return low <= each.observation.ready <= high


def errors_table(rows: Sequence[ErrorRow]) -> ReportTable:
    """The errors, the bad ones included."""
    columns = [
        Column[ErrorRow]("held out", lambda row: str(row.held_out)),
        Column[ErrorRow]("server", lambda row: row.server),
        Column[ErrorRow]("recoveries", lambda row: str(len(row.errors)), right=True),
        Column[ErrorRow](
            "crashes", lambda row: str(len({each.observation.crash_name for each in row.errors})), right=True
        ),
        Column[ErrorRow]("median error", lambda row: f"{row.median:.0%}", right=True),
        Column[ErrorRow](
            "bias", lambda row: f"{statistics.median(each.relative for each in row.errors):+.0%}", right=True
        ),
        Column[ErrorRow]("worst", lambda row: f"{row.worst.relative:+.0%}", right=True),
        Column[ErrorRow]("in the 90 % interval", _covered, right=True),
    ]
    notes = [
        "Predicted over measured seconds to ready, less one, of recoveries that the fit had not seen. The intervals are from the errors "
        "on the other servers; their share has its own 95 % interval, as if recoveries were independent."
    ]
    return ReportTable.of("Errors on what was held out", rows, columns, notes)


def _covered(row: ErrorRow) -> str:
    low, high = coverage(row.inside, row.judged_by_interval)
    return f"{row.inside / row.judged_by_interval:.0%} ({low:.0%}–{high:.0%})"


def rates_table(calibration: Calibration) -> ReportTable:
    """Every rate with its unit, a column a server."""

    def of_server(name: str, server: CalibratedServer) -> Column[Rate]:
        def cell(row: Rate) -> str:
            rate = row[3](server)
            return "–" if not rate else f"{rate:.3g}"

        return Column(name, cell, right=True)

    def rate_of(name: str) -> Callable[[CalibratedServer], float | None]:
        return lambda server: server.rates.get(name)

    rows: list[Rate] = [
        ("memory", "pool for redo", "bytes/byte", lambda server: server.memory.per_byte),
        ("memory", "pool for a write request", "bytes", lambda server: server.memory.per_request),
        ("memory", "pages for each dirty page", "", lambda server: server.memory.pages_per_dirty_page),
        ("memory", "repetition of pages", "power", lambda server: server.memory.repetition),
        *((str(term.part), term.about, term.unit, rate_of(term.name)) for term in TERMS),
        ("rollback", "rows rolled back", "rows/s", lambda server: server.rows_rolled_back_per_s),
    ]
    columns = [
        Column[Rate]("part", lambda row: row[0]),
        Column[Rate]("what", lambda row: row[1]),
        Column[Rate]("unit", lambda row: row[2]),
        *(of_server(name, server) for name, server in calibration.servers.items()),
    ]
    return ReportTable.of("Rates", rows, columns, ["A dash: 0, no such work was seen."])
