"""The experiment calibrate: a few small crashes, from which the recoveries of large logs here are predicted."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from typing_extensions import override

from redolab.crash.bench.crash_experiment import CrashExperiment
from redolab.crash.bench.crash_plan import PlannedCrash, PlannedRecovery
from redolab.crash.bench.factors import CrashFactors, check_log_sizes, storages_factor
from redolab.errors import InvalidInput
from redolab.report.contents import Report
from redolab.report.table import Column, ReportTable
from redolab.runs.factors import factor, repeat_factor, several
from redolab.runs.plan import Blocks
from redolab.runs.store import Run
from redolab.servers.catalogue import server_names
from redolab.units import GIB, format_duration, format_size, parse_size

if TYPE_CHECKING:
    from redolab.crash.wanted import WantedCrash
    from redolab.lab import Lab
    from redolab.predict.calibration import Calibration
    from redolab.predict.predicting import Predicted

FILE = "calibration.json"
_LONG_RECORDS, _SHORT_RECORDS = "bulk-update", "oltp_write_only"
_PREDICTED = (8 * GIB, 64 * GIB)
_POOL_SHARE = 4
"""Divisor of the log for the pool of the predictions: it needs several batches, as production pools do."""


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the experiment; sizes in bytes."""

    server: tuple[str, ...] = factor("Servers, with commas; all for every one.", server_names, "mariadb-10.11")
    storage: tuple[str, ...] = storages_factor()
    log_size: tuple[int, ...] = factor(
        "Redo log sizes, with commas: the larger the largest, the less is extrapolated.",
        several(parse_size),
        "256M,512M,1G",
    )
    # Small crashes cost little, and two of them show how much crashes differ.
    repeat: int = repeat_factor("How often each recovery is measured.", "1")

    @override
    def check(self) -> None:
        check_log_sizes(self.server, self.log_size)
        if len(self.log_size) < 2:
            raise InvalidInput("one log size does not tell how recovery grows", "give two or more: LOGSIZE=256M,1G")


class Calibrate(CrashExperiment[Factors, PlannedCrash, PlannedRecovery]):
    """Small crashes with long and with short redo records, each recovered in one and in more batches."""

    question = (
        "How long do recoveries take on this machine, after a few small crashes: what predicts the large ones here?"
    )

    @classmethod
    @override
    def blocks(cls, factors: Factors, lab: Lab) -> Blocks[PlannedCrash, PlannedRecovery]:
        from redolab.crash.bench.planning import planned_crashes, usual_pools

        def recoveries(crash: PlannedCrash) -> list[PlannedRecovery]:
            asked = itertools.product(factors.storage, usual_pools(crash.spec))
            return [PlannedRecovery(storage=storage, pool=pool) for storage, pool in asked]

        wanted = itertools.product(factors.server, _wanted(sorted(factors.log_size)))
        return [[(crash, recoveries(crash)) for crash in planned_crashes(lab, wanted)]]

    @classmethod
    @override
    def report(cls, run: Run) -> Report:
        """Return the calibration as a file, its predictions here, and its errors."""
        from redolab.predict.calibration import as_json, shipped_calibration
        from redolab.predict.fitting import fit_runs, learned_from
        from redolab.predict.own_machine import on_own_machine
        from redolab.predict.prediction_errors import error_rows, errors_table
        from redolab.predict.rates import rates_tables

        found = fit_runs([run])
        calibration = on_own_machine(found, shipped_calibration())
        rows = [each for server in calibration.servers for each in _predictions(calibration, server)]
        return Report(
            answer=_answer(run, rows),
            tables=[_table(rows, learned_from(found))],
            details=[errors_table(error_rows(found.judged)), *rates_tables(calibration)],
            rows={"table": [_flat(each) for each in rows]},
            files={FILE: as_json(calibration)},
        )


def _wanted(sizes: Sequence[int]) -> list[WantedCrash]:
    """Return every size under the workload that fills quickly, and all but the largest under the one that takes
    minutes.
    """
    from redolab.crash.wanted import WantedCrash

    return [
        *(WantedCrash(log_size=size, workload=_LONG_RECORDS) for size in sizes),
        *(WantedCrash(log_size=size, workload=_SHORT_RECORDS) for size in sizes[:-1]),
    ]


def _predictions(calibration: Calibration, server: str) -> list[Predicted]:
    """Return the predictions of large logs on each storage that was measured."""
    from redolab.predict.asking import model_of
    from redolab.predict.predicting import predicted
    from redolab.predict.question import Question

    found = []
    workloads = calibration.servers[server].workloads.values()
    for storage in dict.fromkeys(storage for each in workloads for storage in each.storages):
        for size in _PREDICTED:
            question = Question(server=server, storage=storage, pool=size // _POOL_SHARE)
            model = model_of(question, calibration, storage)
            possible = min(size, model.dialect.largest_log)
            found.append(predicted(model, possible, None))
    return found


def _flat(row: Predicted) -> dict[str, object]:
    """Return a prediction as a dictionary for CSV and Parquet."""
    plain = dict(msgspec.to_builtins(row))
    # Its terms are what `redolab predict --why` shows.
    del plain["why"]
    for name in ("half", "ninety", "parts_s"):
        plain |= {f"{name.removesuffix('_s')}_{each}": value for each, value in plain.pop(name).items()}
    return {**plain, "warnings": "; ".join(row.warnings)}


def _ninety(row: Predicted) -> str:
    return f"{format_duration(row.ninety.low_s)} to {format_duration(row.ninety.high_s)}"


def _answer(run: Run, rows: Sequence[Predicted]) -> str:
    first = rows[0]
    return (
        f"With a redo log of {format_size(first.log_size)} on {first.storage}, {first.server} would be ready after about "
        f"{format_duration(first.ready_s)} here (90 %: {_ninety(first)}): 'redolab predict --storage {run.folder / FILE}' "
        "has the rest."
    )


def _table(rows: Sequence[Predicted], learned: Sequence[str]) -> ReportTable:
    columns: list[Column[Predicted]] = [
        Column("server", lambda row: row.server, shared=str),
        Column("storage", lambda row: row.storage, shared="on {}".format),
        Column("log", lambda row: format_size(row.log_size), right=True),
        Column("pool", lambda row: format_size(row.buffer_pool), right=True),
        Column("redo at worst", lambda row: format_size(row.redo), right=True),
        Column("ready, predicted", lambda row: format_duration(row.ready_s), right=True),
        Column("90 %", _ninety, right=True),
        Column("batches", lambda row: str(row.batches), right=True),
    ]
    notes = [
        f"Redo like that of {rows[0].workload}, the log full. 'redolab predict' and 'redolab size' take the file for any other "
        "log, pool and load.",
        *learned,
        *dict.fromkeys(f"! {warning}." for row in rows for warning in row.warnings),
    ]
    return ReportTable.brief("Predicted recoveries", rows, columns, notes)
