"""The experiment binary-log: recoveries after crashes that leave much, or half a transaction, in the binary log."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from redolab.crash.bench.crash_experiment import CrashExperiment
from redolab.crash.bench.crash_plan import PlannedCrash, PlannedRecovery
from redolab.crash.bench.factors import CrashFactors, check_log_sizes, storages_factor
from redolab.crash.records.binary_log_end import BinaryLogEnd, EndKind
from redolab.crash.records.kill_rule import KillRule
from redolab.errorlog import BINARY_LOG_PART, Phase
from redolab.errors import InvalidInput
from redolab.grouping import by_key
from redolab.report.contents import Report
from redolab.report.numbers import NONE, median_with_range
from redolab.report.table import Column, ReportTable
from redolab.results.recoveries import Recovery, recoveries_of
from redolab.runs.factors import factor, keep_factor, on_or_off, repeat_factor, several, whole_number
from redolab.runs.plan import Blocks
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.servers.dialects import Purpose
from redolab.servers.extra_settings import settings_from
from redolab.servers.sizes import check_pool
from redolab.units import MIB, format_size, parse_duration, parse_size

if TYPE_CHECKING:
    from redolab.crash.wanted import WantedCrash
    from redolab.lab import Lab


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the experiment; sizes in bytes, times in seconds."""

    server: tuple[str, ...] = factor("Servers, with commas; all for every one.", server_names, "mysql-9,mariadb-11.8")
    storage: tuple[str, ...] = storages_factor()
    ends: tuple[BinaryLogEnd, ...] = factor(
        "What the binary log ends with, with commas: small:BYTES of the load's transactions in the last file; whole:BYTES, one "
        "transaction that is complete there and prepared in InnoDB; cut:ROWS, one that is cut off; files:COUNT.",
        several(BinaryLogEnd.parse),
        "small:0,small:256M,whole:1G,cut:1000000",
    )
    compressed: bool = factor("binlog_transaction_compression of MySQL.", on_or_off, "off")
    log_size: int = factor("Redo log size.", parse_size, "1G")
    dataset: int = factor("Size of the load's tables.", parse_size, "256M")
    pool: int = factor("Buffer pool, under load and in recovery.", parse_size, "2G")
    load: float = factor("Length of the load before, under oltp_write_only.", parse_duration, "30s")
    crashes: int = factor("Crashes of each kind.", whole_number(1, 1000), "1")
    repeat: int = repeat_factor("How often each crash is recovered on each storage.", "2")
    keep: bool = keep_factor("off")

    @override
    def check(self) -> None:
        check_log_sizes(self.server, (self.log_size,))
        check_pool(self.pool)
        cannot = [name for name in self.server if not server_catalogue().get(name).dialect().compresses_binary_log]
        if self.compressed and cannot:
            raise InvalidInput(f"{cannot[0]} does not compress its binary log", "COMPRESSED=off, or other servers")


class BinaryLog(CrashExperiment[Factors, PlannedCrash, PlannedRecovery]):
    """Crashes of a server with its binary log on, which ends in one way or another, and their recoveries."""

    question = (
        "How much longer does recovery take where the binary log is on, and ends with a large or a cut transaction?"
    )

    @classmethod
    @override
    def blocks(cls, factors: Factors, lab: Lab) -> Blocks[PlannedCrash, PlannedRecovery]:
        from redolab.crash.bench.planning import planned_crashes

        wanted = [
            (server, _wanted(factors, end, number))
            for number, server, end in itertools.product(range(1, factors.crashes + 1), factors.server, factors.ends)
        ]
        recoveries = [PlannedRecovery(storage=storage, pool=factors.pool) for storage in factors.storage]
        return [[(crash, recoveries) for crash in planned_crashes(lab, wanted, [factors.pool])]]

    @classmethod
    @override
    def report(cls, run: Run) -> Report:
        from redolab.results.marks import disks_of

        alike = by_key(
            recoveries_of(run),
            lambda each: (each.trial.server, str(each.image.spec.binary_log_end), each.trial.storage),
        )
        rows = [_Row(found) for _, found in sorted(alike.items())]
        if not rows:
            return Report(answer="No recovery was measured.", tables=[])
        disks, disk_rows = disks_of(run)
        return Report(
            answer=_answer(rows),
            tables=[_table(rows)],
            details=disks,
            rows=disk_rows,
        )


@dataclass(frozen=True, slots=True)
class _Row:
    """Recoveries of one server on one storage, after crashes with the same end of the binary log."""

    recoveries: Sequence[Recovery]

    def seconds(self, phase: Phase, part: str = "") -> list[float]:
        """Return the seconds of a phase, or of its part, in recoveries whose log times it."""
        timelines = [timeline for each in self.recoveries if (timeline := each.trial.timeline) is not None]
        timed = [each.seconds_of(part) if part else each.phase(phase).seconds for each in timelines]
        return [seconds for seconds in timed if seconds is not None]

    @property
    def ready(self) -> list[float]:
        """Recovery times in seconds, of those that became ready."""
        return [each.trial.ready_s for each in self.recoveries if each.trial.ready_s is not None]


def _table(rows: Sequence[_Row]) -> ReportTable:
    def of(phase: Phase, part: str = "") -> Column[_Row]:
        return Column(
            f"{part or phase}, s", lambda row: median_with_range(row.seconds(phase, part)) or NONE, right=True
        )

    columns: list[Column[_Row]] = [
        Column("server", lambda row: row.recoveries[0].trial.server),
        Column("storage", lambda row: row.recoveries[0].trial.storage),
        Column("the binary log ends with", lambda row: str(row.recoveries[0].image.spec.binary_log_end)),
        Column("last file", lambda row: format_size(row.recoveries[0].image.binary_log_bytes or 0), right=True),
        Column("crashes", lambda row: str(len({each.trial.image for each in row.recoveries})), right=True),
        Column("n", lambda row: str(len(row.recoveries)), right=True),
        Column("recovery time, s", lambda row: median_with_range(row.ready) or NONE, right=True),
        of(Phase.SCAN),
        of(Phase.APPLY),
        of(Phase.OPEN),
        of(Phase.ACCEPT),
        of(Phase.ACCEPT, BINARY_LOG_PART),
        of(Phase.ROLLBACK),
        Column("peak memory, MiB", _peak, right=True),
    ]
    notes = [
        f"{BINARY_LOG_PART} is a part of accept: the server reads the last file, commits what it holds, and rolls back what it "
        "lacks (MariaDB after it is ready). Rollback comes after the recovery time. Median (range) of n recoveries."
    ]
    return ReportTable.of("Recoveries by what the binary log ends with", rows, columns, notes)


def _peak(row: _Row) -> str:
    peaks = [each.trial.peak_memory for each in row.recoveries if each.trial.peak_memory is not None]
    return f"{max(peaks) / MIB:,.0f}" if peaks else NONE


def _answer(rows: Sequence[_Row]) -> str:
    timed = [(max(seconds), row) for row in rows if (seconds := row.seconds(Phase.ACCEPT, BINARY_LOG_PART))]
    if not timed:
        return "No error log times the binary log's recovery."
    longest, row = max(timed, key=lambda each: each[0])
    first = row.recoveries[0]
    return (
        f"The binary log's recovery took {longest:.1f} s of {max(row.ready, default=0.0):.1f} s at most: "
        f"{first.trial.server} on {first.trial.storage}, {first.image.spec.binary_log_end}."
    )


def _wanted(factors: Factors, end: BinaryLogEnd, number: int) -> WantedCrash:
    from redolab.crash.wanted import WantedCrash

    return WantedCrash(
        log_size=factors.log_size,
        dataset=factors.dataset,
        workload="oltp_write_only",
        threads=4,
        kill=KillRule(after=factors.load),
        open_transaction_rows=end.amount if end.kind is EndKind.CUT else 0,
        binary_log=True,
        sync_binlog=1,
        binary_log_end=end,
        purpose=Purpose.PRODUCTION,
        fill_pool=factors.pool,
        overrides=settings_from("binlog_transaction_compression=1") if factors.compressed else (),
        number=number,
    )
