"""Fitted rates of a calibration, as tables for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from redolab.models.recovery_time.rollback import RollbackRate
from redolab.models.recovery_time.spread import interval
from redolab.models.recovery_time.terms import TERMS, Term
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable
from redolab.sizing.calibration import CalibratedWorkload, Calibration
from redolab.storage.profiles import HOME

_LARGE = 1000
_THOUSAND = 1000.0
_NOTHING = 1e-4
_NINETY = 0.9


@dataclass(frozen=True, slots=True)
class RateRow:
    """A row of the rates: the part, the rate's name with its unit, and its value for each server."""

    part: str
    what: str
    of: Callable[[str], float | None]


def rates_tables(calibration: Calibration) -> list[ReportTable]:
    """Return a table for each workload with every rate, a column a server, and one of rollbacks; empty rows are cut."""
    workloads = dict.fromkeys(name for server in calibration.servers.values() for name in server.workloads)
    return [*(_rates_of(calibration, workload) for workload in workloads), *_rollbacks(calibration)]


def _rollbacks(calibration: Calibration) -> list[ReportTable]:
    """Return the rates of rollback, a column a storage; empty if no large rollback was measured."""
    servers = {name: each for name, each in calibration.servers.items() if each.rollback_on}
    storages = dict.fromkeys(storage for each in servers.values() for storage in each.rollback_on)
    if not servers:
        return []

    def of_storage(storage: str) -> Column[str]:
        return Column(storage, lambda name: _rows_a_second(servers[name].rollback_on.get(storage)), right=True)

    columns = [
        Column[str]("rows a second", lambda name: server_label(name, servers[name].version)),
        *map(of_storage, storages),
    ]
    most = max(rate.most_rows for each in servers.values() for rate in each.rollback_on.values())
    notes = [
        f"Medians of crashes, of rollbacks of up to {most:,} rows in the order of the primary key. {_upper_ends(calibration)}"
    ]
    return [ReportTable.of("Rollback", list(servers), columns, notes)]


def _rows_a_second(rate: RollbackRate | None) -> str:
    return "–" if rate is None else f"{rate.rows_per_s:,.0f}"


def _upper_ends(calibration: Calibration) -> str:
    """Return a sentence such as `95 % of rollbacks take less than 1.8 times as long (another crash), …`."""
    spreads = calibration.rollback_spreads
    if not spreads:
        return "How far they are off is not known."
    ends = {kind: interval(1.0, spread, _NINETY)[1] for kind, spread in spreads.items()}
    return (
        "95 % of rollbacks take less than "
        + ", ".join(f"{end:.1f} times as long ({kind})" for kind, end in ends.items())
        + "."
    )


def _rates_of(calibration: Calibration, workload: str) -> ReportTable:
    servers = {name: each for name, each in calibration.servers.items() if workload in each.workloads}
    learnt = {name: each.workloads[workload] for name, each in servers.items()}
    rows = [
        RateRow("memory", "pool for a byte of redo, bytes", lambda name: learnt[name].memory.per_byte),
        RateRow("memory", "pages for each dirty page", lambda name: learnt[name].memory.pages_per_dirty_page),
        RateRow("memory", "repetition in batches, power", lambda name: learnt[name].memory.repetition),
        *(_rated(term, learnt) for term in TERMS if any(term.name in each.rates for each in learnt.values())),
        RateRow("other", "a table, ms", lambda name: _THOUSAND * servers[name].seconds_per_table_on.get(HOME, 0.0)),
    ]

    def of_server(name: str) -> Column[RateRow]:
        return Column(server_label(name, servers[name].version), lambda row: _rate(row.of(name)), right=True)

    columns = [
        Column[RateRow]("part", lambda row: row.part),
        Column[RateRow]("what", lambda row: row.what),
        *(of_server(name) for name in servers),
    ]
    return ReportTable.of(f"Rates under {workload}", rows, columns, ["A dash: 0, or not known."])


def _rated(term: Term, learnt: Mapping[str, CalibratedWorkload]) -> RateRow:
    return RateRow(str(term.part), f"{term.about}, {term.unit}", lambda name: learnt[name].rates.get(term.name))


def _rate(value: float | None) -> str:
    if not value or value < _NOTHING:
        return "–"
    return f"{value:.3g}" if value < _LARGE else f"{value:,.0f}"
