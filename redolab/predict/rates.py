"""Fitted rates of a calibration, as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from redolab.disks.profiles import HOME
from redolab.predict.calibration import Calibration
from redolab.predict.recovery_time.spread import interval
from redolab.predict.recovery_time.terms import TERMS
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable, known

_LARGE = 1000
_THOUSAND = 1000.0
_NOTHING = 1e-4


_Row: TypeAlias = tuple[str, str, Sequence[float | None]]
"""Part, name of the rate with its unit, and its value for each server."""


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
        def rows_a_second(name: str) -> str:
            return known(servers[name].rollback_on.get(storage), lambda rate: f"{rate.rows_per_s:,.0f}")

        return Column(storage, rows_a_second, right=True)

    columns = [
        Column[str]("rows a second", lambda name: server_label(name, servers[name].version)),
        *map(of_storage, storages),
    ]
    most = max(rate.most_rows for each in servers.values() for rate in each.rollback_on.values())
    notes = [
        f"Medians of crashes, of rollbacks of up to {most:,} rows in the order of the primary key. {_upper_ends(calibration)}"
    ]
    return [ReportTable.of("Rollback", list(servers), columns, notes)]


def _upper_ends(calibration: Calibration) -> str:
    """Return a sentence such as `95 % of rollbacks take less than 1.8 times as long (another crash), …`."""
    spreads = calibration.rollback_spreads
    if not spreads:
        return "How far they are off is not known."
    ends = {kind: interval(1.0, spread)[1] for kind, spread in spreads.items()}
    return (
        "95 % of rollbacks take less than "
        + ", ".join(f"{end:.1f} times as long ({kind})" for kind, end in ends.items())
        + "."
    )


def _rates_of(calibration: Calibration, workload: str) -> ReportTable:
    servers = {name: each for name, each in calibration.servers.items() if workload in each.workloads}
    fits = [each.workloads[workload] for each in servers.values()]
    of_tables = [_THOUSAND * each.seconds_per_table_on.get(HOME, 0.0) for each in servers.values()]
    rows: list[_Row] = [
        ("memory", "pool for a byte of redo, bytes", [each.memory.per_byte for each in fits]),
        ("memory", "pages for each dirty page", [each.memory.pages_per_dirty_page for each in fits]),
        ("memory", "repetition in batches, power", [each.memory.repetition for each in fits]),
        *(
            (str(term.part), f"{term.about}, {term.unit}", [each.rates.get(term.name) for each in fits])
            for term in TERMS
            if any(term.name in each.rates for each in fits)
        ),
        ("other", "a table, ms", of_tables),
    ]

    def of_server(place: int, name: str) -> Column[_Row]:
        return Column(server_label(name, servers[name].version), lambda row: _rate(row[2][place]), right=True)

    columns = [
        Column[_Row]("part", lambda row: row[0]),
        Column[_Row]("what", lambda row: row[1]),
        *(of_server(place, name) for place, name in enumerate(servers)),
    ]
    return ReportTable.of(f"Rates under {workload}", rows, columns, ["A dash: 0, or not known."])


def _rate(value: float | None) -> str:
    if not value or value < _NOTHING:
        return "–"
    return f"{value:.3g}" if value < _LARGE else f"{value:,.0f}"
