"""Report of a calibration: the calibration file, its errors, and its predictions of large logs here."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from redolab.report.contents import Report
from redolab.report.table import Column, ReportTable
from redolab.runs.store import Run
from redolab.sizing.asking import model_of
from redolab.sizing.calibration import Calibration, as_json, shipped_calibration
from redolab.sizing.errors import error_rows, errors_table
from redolab.sizing.fitting import fit_runs, learned_from
from redolab.sizing.own_machine import on_own_machine
from redolab.sizing.predicting import Predicted, predicted
from redolab.sizing.question import Question
from redolab.sizing.rates import rates_tables
from redolab.units import GIB, format_duration, format_size

FILE = "calibration.json"
_PREDICTED = (8 * GIB, 64 * GIB)
_POOL_SHARE = 4
"""Divisor of the log for the pool of the predictions: it needs several batches, as production pools do."""


def report(run: Run) -> Report:
    """Return the calibration, its predictions here, and its errors."""
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


def _predictions(calibration: Calibration, server: str) -> list[Predicted]:
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
    for name in ("half", "ninety", "parts_s"):
        plain |= {f"{name.removesuffix('_s')}_{each}": value for each, value in plain.pop(name).items()}
    return {**plain, "warnings": "; ".join(row.warnings)}


def _answer(run: Run, rows: list[Predicted]) -> str:
    first = rows[0]
    span = f"{format_duration(first.ninety.low_s)} to {format_duration(first.ninety.high_s)}"
    return (
        f"With a redo log of {format_size(first.log_size)} on {first.storage}, {first.server} would be ready after about "
        f"{format_duration(first.ready_s)} here (90 %: {span}): 'redolab predict --storage {run.folder / FILE}' has the rest."
    )


def _table(rows: list[Predicted], learned: Sequence[str]) -> ReportTable:
    columns = [
        Column[Predicted]("server", lambda row: row.server, shared=str),
        Column[Predicted]("storage", lambda row: row.storage, shared="on {}".format),
        Column[Predicted]("log", lambda row: format_size(row.log_size), right=True),
        Column[Predicted]("pool", lambda row: format_size(row.buffer_pool), right=True),
        Column[Predicted]("redo at worst", lambda row: format_size(row.redo), right=True),
        Column[Predicted]("ready, predicted", lambda row: format_duration(row.ready_s), right=True),
        Column[Predicted](
            "90 %",
            lambda row: f"{format_duration(row.ninety.low_s)} to {format_duration(row.ninety.high_s)}",
            right=True,
        ),
        Column[Predicted]("batches", lambda row: str(row.batches), right=True),
    ]
    notes = [
        f"Redo like that of {rows[0].workload}, the log full. 'redolab predict' and 'redolab size' take the file for any other "
        "log, pool and load.",
        *learned,
        *dict.fromkeys(f"! {warning}." for row in rows for warning in row.warnings),
    ]
    return ReportTable.brief("Predicted recoveries", rows, columns, notes)
