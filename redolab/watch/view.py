"""Recovery time that a running server would have, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console

from redolab.counters.series import Series
from redolab.errors import LabError
from redolab.predict.predicting import evidence
from redolab.report.table import Column, ReportTable
from redolab.servers.address import Address
from redolab.units import format_duration, format_size
from redolab.watch.crash_now import Expectations, Expected, When
from redolab.watch.standing import Driver
from redolab.watch.watched import Standing, WatchedServer

CRASHES = {
    When.NOW: "if it crashed now",
    When.HIGHEST: "at the highest age seen",
    When.WORST: "at the worst: statements wait",
}
"""Names of the crashes in tables."""
_DRIVERS = {
    Driver.WAITING: "the log is full: statements wait",
    Driver.SYNC: "flushing is forced by the checkpoint age",
    Driver.DIRTY_PAGES: "dirty pages drive flushing",
    Driver.CHECKPOINT_AGE: "the checkpoint age drives flushing",
    Driver.NOTHING: "nothing drives flushing",
}


_WORTH_A_LINE = 1.0
"""Seconds that a transaction cut off in the binary log adds, from which on it is mentioned."""


def predicted_now(server: WatchedServer, standing: Standing) -> dict[str, object]:
    """Return the state of a running server for programs; sizes in bytes, times in seconds."""
    until, model = standing.seconds_until_waiting, server.expectations.model
    return {
        "server": server.name,
        "version": server.version,
        "log_size": server.log_size,
        "buffer_pool": server.buffer_pool,
        "checkpoint_age": standing.sample.checkpoint_age,
        "of_the_limit": standing.sample.fullness,
        "flushing_driven_by": standing.driver,
        "seconds_until_writers_wait": None if until is None or math.isinf(until) else until,
        "largest_transaction_rows": server.largest_transaction,
        "prepared_s": server.prepared_seconds(),
        "recoveries": [
            {
                "crash": each.when,
                "redo": each.redo,
                "dirty_pages": each.dirty_pages,
                "ready_s": each.prediction.seconds,
                "half_s": each.prediction.half,
                "ninety_s": each.prediction.ninety,
            }
            for each in standing.expected
        ],
        "why": server.expectations.why_at_worst(),
        "evidence": "" if model is None else evidence(model),
        "warnings": server.expectations.reservations(),
    }


def in_words(server: WatchedServer, standing: Standing) -> list[str]:
    """Return the state of the server, one sentence an item."""
    age, fullness, log = standing.sample.checkpoint_age, standing.sample.fullness, server.log_size
    where = f"{server.name}, redo log {'of unknown size' if log is None else format_size(log)}, pool {format_size(server.buffer_pool)}"
    if age is None:
        return [f"{where}: the server does not tell its checkpoint age, so that a crash now is not known"]
    full = "" if fullness is None else f", {fullness:.0%} of that at which statements wait"
    sentences = [f"{where}: checkpoint age {format_size(age)}{full}"]
    if standing.driver is not None:
        sentences.append(f"{_DRIVERS[standing.driver]}{_until(standing.seconds_until_waiting)}")
    seconds = server.prepared_seconds()
    if seconds >= _WORTH_A_LINE:
        sentences.append(
            f"its largest open transaction has changed {server.largest_transaction:,} rows: a crash while that is written to the "
            f"binary log adds {format_duration(seconds)} before ready"
        )
    return sentences


def _until(seconds: float | None) -> str:
    if seconds is None or seconds == 0.0:
        return ""
    if math.isinf(seconds):
        return "; the age does not grow"
    return f"; at this rate statements wait in {format_duration(seconds)}"


def recovery_table(expectations: Expectations, expected: Sequence[Expected]) -> ReportTable:
    """Return a table with a row for each predicted recovery."""
    columns = [
        Column[Expected]("crash", lambda row: CRASHES[row.when]),
        Column[Expected]("redo", lambda row: format_size(row.redo), right=True),
        Column[Expected](
            "dirty pages",
            lambda row: "as the load's kind" if row.dirty_pages is None else f"{row.dirty_pages:,}",
            right=True,
        ),
        Column[Expected]("ready after", lambda row: format_duration(row.prediction.seconds), right=True),
        Column[Expected]("half of recoveries", lambda row: _span(row.prediction.half), right=True),
        Column[Expected]("90 %", lambda row: _span(row.prediction.ninety), right=True),
    ]
    model = expectations.model
    notes = [
        *([] if model is None else [f"Predicted from {evidence(model)}."]),
        *(f"! {each}." for each in expectations.reservations()),
    ]
    return ReportTable.of("Recovery", expected, columns, notes)


def show_expected(console: Console, address: Address, storage: str, workload: str | None, series: Series) -> None:
    """Print the recoveries after crashes at the last sample, at the largest age among the samples, and at the worst.

    Leaves out a server that is away by now: its settings are no longer known.
    """
    try:
        server = WatchedServer(address, storage, workload)
    except LabError:
        return
    server.close()
    highest = max(series.segments, key=lambda each: each.peak_age or 0).highest
    expected = server.expectations.of(series.segments[-1].last, highest)
    recovery_table(server.expectations, expected).show(console)


def _span(interval: Sequence[float]) -> str:
    low, high = interval
    return f"{format_duration(low)} to {format_duration(high)}"
