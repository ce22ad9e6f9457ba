"""`redolab fit`: a calibration from runs of recoveries, and how far its predictions are off on what they had not seen."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from redolab.crashes.bench import crashes_of, storages_of
from redolab.crashes.observations import disk_figures, observations_of, rollback_rates, table_rates
from redolab.crashes.outcome import Outcome
from redolab.crashes.recovery import RecoveryTrial
from redolab.errors import InvalidInput
from redolab.models.recovery_time.fit import Observation, disk_rates, fit
from redolab.models.recovery_time.held_out import HeldOut, Judged, judged
from redolab.models.recovery_time.spread import Spread, coverage, interval, spread_of
from redolab.models.recovery_time.terms import TERMS, Term
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable
from redolab.runs.pages import measured_runs
from redolab.runs.store import Run
from redolab.servers.dialects import Version, dialect_of
from redolab.servers.known import server_catalogue
from redolab.sizing.calibration import (
    CALIBRATION_FORMAT,
    CalibratedServer,
    CalibratedStorage,
    CalibratedWorkload,
    Calibration,
    calibrated_workload,
    spreads_of,
)
from redolab.sizing.relatives import nearest_first


@dataclass(frozen=True, slots=True)
class Rated:
    """A row of the rates: of which part, what it is with its unit, and what it is of a server."""

    part: str
    what: str
    of: Callable[[str], float | None]


_LARGE = 1000
_THOUSAND = 1000.0
_NOTHING = 1e-4

NINETY = 0.9
RECOVERY_PAGES = ("model", "generations", "recovery", "stuck", "anatomy")
"""The pages of results whose runs are recoveries on the project's own machine."""
_ANATOMY = "anatomy"
"""The experiment whose crashes differ from one another in what no term knows: they tell what a table adds, and no rates."""
ALL_SERVERS = "all"
"""What stands for the server in rows of all of them."""


@dataclass(frozen=True, slots=True)
class FittedRuns:
    """What runs of recoveries taught, and its errors."""

    calibration: Calibration
    judged: Sequence[Judged]
    observations: Sequence[Observation]
    """The recoveries that it learned from."""


def committed_runs() -> list[Run]:
    """All recoveries that are committed with the project, whichever page they are for. Raises `LabError` if there are none."""
    return [run for page in RECOVERY_PAGES for run in measured_runs(page)]


def fit_runs(runs: Sequence[Run]) -> FittedRuns:
    """A calibration from these runs of one machine. Raises `LabError`, or `InvalidInput` if they hold no recovery to learn from."""
    usual = [run for run in runs if run.record().experiment != _ANATOMY]
    observations = observations_of(usual)
    if not observations:
        raise InvalidInput(
            "these runs have no recovery to learn from",
            "it takes some that ended well, on storages that fio looked at (CHECKDISKS=on)",
        )
    rolled_back, of_tables = rollback_rates(runs), table_rates(runs)
    versions = {record.trial.server: record.trial.version for run in runs for record in run.trials(RecoveryTrial)}
    dialects = {server: dialect_of(_family(server), Version.parse(version)) for server, version in versions.items()}
    relatives = {
        server: nearest_first(own, {name: other for name, other in dialects.items() if name != server})
        for server, own in dialects.items()
    }
    found = judged(observations, relatives)
    subjects = {
        subject: [each for each in observations if each.subject == subject]
        for subject in sorted({each.subject for each in observations})
    }
    names = dict.fromkeys(server for server, _ in subjects)
    servers = {
        server: CalibratedServer(
            family=_family(server),
            version=versions[server].split("-")[0],
            workloads={
                workload: calibrated_workload(
                    own, _stuck(usual, of, workload), _disk_rates((of, workload), subjects, relatives[of])
                )
                for (of, workload), own in subjects.items()
                if of == server
            },
            rows_rolled_back_per_s=rolled_back.get(server),
            seconds_per_table=of_tables.get(server),
        )
        for server in names
    }
    last = runs[-1].record().sessions[-1]
    calibration = Calibration(
        format=CALIBRATION_FORMAT,
        made=max(record.trial.started for run in runs for record in run.trials(RecoveryTrial)),
        commit=last.commit or "",
        machine=last.machine,
        storages=_storages(usual),
        servers=servers,
        spreads=spreads_of(found),
        runs=tuple(run.name for run in runs),
    )
    return FittedRuns(calibration, found, observations)


def _disk_rates(
    subject: tuple[str, str],
    subjects: Mapping[tuple[str, str], Sequence[Observation]],
    relatives: Sequence[str],
) -> Mapping[str, float]:
    """For one that was measured on one disk: what the server under other workloads, else its nearest relative, says of disks.

    Nothing for any other.
    """
    if _disks(subjects[subject]) > 1:
        return {}
    for name in (subject[0], *relatives):
        told = [own for (server, _), own in subjects.items() if server == name and _disks(own) > 1]
        if told:
            return disk_rates([fit(own) for own in told])
    return {}


def _disks(observations: Sequence[Observation]) -> int:
    return len({each.disk for each in observations})


def _stuck(runs: Sequence[Run], server: str, workload: str) -> int:
    """How many of its recoveries with its own settings got stuck."""
    count = 0
    for run in runs:
        images = {image.name for image in crashes_of(run) if image.spec.workload == workload}
        trials = [record.trial for record in run.trials(RecoveryTrial) if record.trial.image in images]
        count += sum(each.server == server and each.outcome is Outcome.STUCK and not each.settings for each in trials)
    return count


def _family(server: str) -> str:
    return server_catalogue().get(server).family


def _storages(runs: Sequence[Run]) -> dict[str, CalibratedStorage]:
    """All that fio looked at, also where no recovery was measured."""
    return {
        record.storage: CalibratedStorage(about=record.about, disk=disk)
        for run in runs
        for record in storages_of(run).records
        if record.check is not None and (disk := disk_figures(record.check.got)) is not None
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
            rows.append(ErrorRow(kind, ALL_SERVERS, of_kind, sum(inside.values()), len(of_kind)))
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


def rates_tables(calibration: Calibration) -> list[ReportTable]:
    """A table for each workload: every rate with its unit, a column a server; what no server has is left out."""
    workloads = dict.fromkeys(name for server in calibration.servers.values() for name in server.workloads)
    return [_rates_of(calibration, workload) for workload in workloads]


def _rates_of(calibration: Calibration, workload: str) -> ReportTable:
    servers = {name: each for name, each in calibration.servers.items() if workload in each.workloads}
    learnt = {name: each.workloads[workload] for name, each in servers.items()}
    rows = [
        Rated("memory", "pool for a byte of redo, bytes", lambda name: learnt[name].memory.per_byte),
        Rated("memory", "pages for each dirty page", lambda name: learnt[name].memory.pages_per_dirty_page),
        Rated("memory", "repetition in batches, power", lambda name: learnt[name].memory.repetition),
        *(_rated(term, learnt) for term in TERMS if any(term.name in each.rates for each in learnt.values())),
        Rated("other", "a table, ms", lambda name: _THOUSAND * (servers[name].seconds_per_table or 0.0)),
        Rated("rollback", "rows a second", lambda name: servers[name].rows_rolled_back_per_s),
    ]

    def of_server(name: str) -> Column[Rated]:
        return Column(server_label(name, servers[name].version), lambda row: _rate(row.of(name)), right=True)

    columns = [
        Column[Rated]("part", lambda row: row.part),
        Column[Rated]("what", lambda row: row.what),
        *(of_server(name) for name in servers),
    ]
    return ReportTable.of(f"Rates under {workload}", rows, columns, ["A dash: 0, or not told."])


def _rated(term: Term, learnt: Mapping[str, CalibratedWorkload]) -> Rated:
    return Rated(str(term.part), f"{term.about}, {term.unit}", lambda name: learnt[name].rates.get(term.name))


def _rate(value: float | None) -> str:
    if not value or value < _NOTHING:
        return "–"
    return f"{value:.3g}" if value < _LARGE else f"{value:,.0f}"
