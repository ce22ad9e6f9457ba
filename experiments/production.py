"""The experiment production: crashes at random times of a load under production settings."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from redolab.crash.bench.crash_experiment import CrashExperiment
from redolab.crash.bench.crash_plan import PlannedCrash, PlannedRecovery
from redolab.crash.bench.factors import (
    CrashFactors,
    check_log_sizes,
    kind_of_crash,
    storages_factor,
    tables_size,
    workload_name,
)
from redolab.crash.records.kill_rule import KillRule, Uniform
from redolab.errors import InvalidInput
from redolab.report.contents import Report
from redolab.report.numbers import number
from redolab.report.table import Column, ReportTable
from redolab.runs.factors import factor, keep_factor, on_or_off, several, whole_number
from redolab.runs.plan import Blocks
from redolab.runs.store import Run
from redolab.servers.catalogue import server_names
from redolab.servers.dialects import Purpose
from redolab.servers.sizes import check_pool, fill_pool
from redolab.units import parse_size

if TYPE_CHECKING:
    from redolab.crash.wanted import WantedCrash
    from redolab.lab import Lab
    from redolab.predict.calibration import Calibration
    from redolab.predict.judged_predictions import JudgedRecovery, JudgedStratum


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the experiment; sizes in bytes, times in seconds."""

    server: tuple[str, ...] = factor("Servers, with commas.", server_names, "mariadb-11.8,mysql-9")
    storage: tuple[str, ...] = storages_factor("to be under load and to recover on")
    log_size: tuple[int, ...] = factor("Redo log sizes, with commas.", several(parse_size), "256M,1G")
    workload: tuple[str, ...] = factor(
        "The loads, with commas; each has tables of the size of TPC-C's.",
        several(workload_name),
        "tpcc,oltp_write_only",
    )
    warehouses: int = factor("Warehouses of TPC-C.", whole_number(1, 30_000), "10")
    connections: int = factor("Clients, each with a connection.", whole_number(1, 1024), "8")
    pool: int | None = factor(
        "Buffer pool, under load and in recovery (default: one that holds the tables and what is added to them).",
        parse_size,
    )
    crashes: int = factor("Crashes of each load.", whole_number(1, 1000), "20")
    crash: str = factor(
        "The kind of crash: freeze, of which one load gives all; kill and disk-power end their load, so that each crash has its own.",
        kind_of_crash,
        "freeze",
    )
    moment: Uniform = factor("Crash at moments drawn between two, after the load began.", Uniform.parse, "5m-35m")
    trx_commit: int = factor("innodb_flush_log_at_trx_commit.", whole_number(0, 2), "1")
    binary_log: bool = factor("Whether the binary log is on, with sync_binlog=1.", on_or_off, "on")
    keep: bool = keep_factor("off")

    @override
    def check(self) -> None:
        check_log_sizes(self.server, self.log_size)
        if self.pool is not None:
            check_pool(self.pool)
        if self.moment.earliest == self.moment.latest and self.crashes > 1:
            raise InvalidInput(f"{self.crashes} crashes cannot all come at one moment", "MOMENT=5m-35m")

    def tables(self) -> int:
        """Return the bytes of each load's tables."""
        return tables_size("tpcc", self.warehouses)


class Production(CrashExperiment[Factors, PlannedCrash, PlannedRecovery]):
    """Crashes at random times of a load, each recovered as production would."""

    question = "How long do recoveries take after crashes at random moments of a load under the settings of production?"
    new_loads = True

    @classmethod
    @override
    def blocks(cls, factors: Factors, lab: Lab) -> Blocks[PlannedCrash, PlannedRecovery]:
        """Return the crashes of each load, each recovered where its load ran."""
        from redolab.crash.bench.planning import crash_blocks, planned_crashes

        pool = factors.pool or fill_pool(factors.tables(), max(factors.log_size))
        wanted = [
            (server, _wanted(factors, pool, storage, size, workload, number))
            for server, storage, size, workload, number in itertools.product(
                factors.server,
                factors.storage,
                factors.log_size,
                factors.workload,
                range(1, factors.crashes + 1),
            )
        ]
        crashes = planned_crashes(lab, wanted, [pool])
        return crash_blocks([(crash, [PlannedRecovery(storage=crash.spec.storage, pool=pool)]) for crash in crashes])

    @classmethod
    @override
    def report(cls, run: Run) -> Report:
        from redolab.predict.judged_predictions import strata
        from redolab.predict.judging_tables import judged_report, planned_table, strata_table

        def tables(judged: Sequence[JudgedRecovery], calibration: Calibration) -> Sequence[ReportTable]:
            loads = strata(judged, calibration)
            return [_loads_table(loads), strata_table(judged), planned_table(loads)]

        return judged_report(run, tables)


def _wanted(factors: Factors, pool: int, storage: str, size: int, workload: str, number: int) -> WantedCrash:
    from redolab.crash.wanted import WantedCrash

    return WantedCrash(
        log_size=size,
        dataset=factors.tables(),
        workload=workload,
        threads=factors.connections,
        kill=KillRule(moment=factors.moment),
        crash=factors.crash,
        # A transaction that stays open for half an hour would block purge.
        open_transaction_rows=0,
        trx_commit=factors.trx_commit,
        binary_log=factors.binary_log,
        # MariaDB's default, 0, may lose what replicas need.
        sync_binlog=1 if factors.binary_log else None,
        purpose=Purpose.PRODUCTION,
        fill_pool=pool,
        number=number,
        storage=storage,
    )


def _loads_table(loads: Sequence[JudgedStratum]) -> ReportTable:
    from redolab.predict.judging_tables import STRATUM

    columns: list[Column[JudgedStratum]] = [
        *STRATUM,
        Column("crashes", lambda row: str(len(row.recoveries)), right=True),
        Column("age, of the hard limit", _ages, right=True),
        Column("half ready after, s", lambda row: number(row.half_ready), right=True),
        Column("all ready after, s", lambda row: number(max(row.ready, default=None)), right=True),
        Column("never ready", lambda row: str(sum(each.ready is None for each in row.recoveries)), right=True),
    ]
    notes = [
        "Ages: the least, the median, the most. The crashes of one load share its history: they are no independent loads."
    ]
    return ReportTable.brief("Recoveries after crashes at random moments", loads, columns, notes)


def _ages(row: JudgedStratum) -> str:
    shares = sorted(
        (each.keyed.image.last_sample.checkpoint_age or 0) / each.keyed.image.hard_limit for each in row.recoveries
    )
    return f"{shares[0]:.0%}, {statistics.median(shares):.0%}, {shares[-1]:.0%}"
