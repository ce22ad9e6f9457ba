"""`redolab predict`: the time of one recovery, its error, and the data behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from rich.console import Console

from redolab.predict.chance_of_stuck import chance_for
from redolab.predict.question import Model, Until
from redolab.predict.recovery import recovery_at, rollback_seconds
from redolab.predict.recovery_time.stuck import ChanceOfStuck
from redolab.predict.recovery_time.terms import Part
from redolab.predict.reservations import reservations_at
from redolab.predict.why import Why, why
from redolab.report.table import Column, ReportTable, print_lines
from redolab.units import format_duration, format_size, noun, size_span


class Interval(msgspec.Struct, frozen=True):
    """Seconds between which a share of recoveries is expected."""

    low_s: float
    high_s: float


class Predicted(msgspec.Struct, frozen=True, kw_only=True):
    """One predicted recovery for programs; sizes in bytes."""

    server: str
    measured_as: str
    version: str
    storage: str
    log_size: int
    buffer_pool: int
    redo: int
    dirty_pages: int
    workload: str
    batches: int
    binary_log: int
    """Bytes of the last binary log file, which is read before the server is ready."""
    ready_s: float
    half: Interval
    ninety: Interval
    parts_s: Mapping[Part, float]
    rollback_s: float | None
    rolled_back_s: float | None
    """Seconds from the start of recovery to the end of rollback, as for its intervals."""
    rolled_back_half: Interval | None
    rolled_back_ninety: Interval | None
    chance_of_stuck: ChanceOfStuck | None
    """Probability that a recovery in several batches gets stuck; None if none does, or no data exist."""
    evidence: str
    warnings: tuple[str, ...]
    why: Why
    """Terms of `ready_s` and of its upper bound."""


def predicted(model: Model, log_size: int, age: int | None) -> Predicted:
    """Return the recovery after a crash at a checkpoint age, by default the worst.

    Raises `InvalidInput` if it is impossible.
    """
    model.check_log(log_size, age)
    redo = model.worst_age(log_size) if age is None else age
    found, work = recovery_at(model.until(Until.READY), log_size, redo), model.work_at(redo)
    rollback = rollback_seconds(model)
    whole = None if rollback is None else recovery_at(model.until(Until.ROLLED_BACK), log_size, redo)
    return Predicted(
        server=model.question.server,
        measured_as=model.measured_as,
        version=model.server.version,
        storage=model.storage,
        log_size=log_size,
        buffer_pool=model.question.pool,
        redo=redo,
        dirty_pages=round(work.dirty_pages),
        workload=model.workload,
        batches=work.batches,
        binary_log=model.binary_log,
        ready_s=found.seconds,
        half=Interval(*found.half),
        ninety=Interval(*found.ninety),
        parts_s=found.parts,
        rollback_s=rollback,
        rolled_back_s=None if whole is None else whole.seconds,
        rolled_back_half=None if whole is None else Interval(*whole.half),
        rolled_back_ninety=None if whole is None else Interval(*whole.ninety),
        chance_of_stuck=chance_for(model),
        evidence=evidence(model),
        warnings=(*model.warnings, *reservations_at(model, log_size)),
        why=why(model.until(Until.READY), log_size, redo),
    )


def evidence(model: Model) -> str:
    """Return a description of the data behind every prediction of a model."""
    fitted, made = model.fitted, model.calibration
    scaled = f" of the project's, scaled by {fitted.scaled_by} recoveries here," if fitted.scaled_by else ""
    return (
        f"{fitted.recoveries} recoveries of {fitted.crashes} crashes of {model.measured_as} ({model.server.version}){scaled} under "
        f"{model.workload}, logs of {size_span(fitted.log_sizes)}, on {', '.join(fitted.storages)}, measured by {made.made:%Y-%m-%d} on "
        f"{made.machine.in_words()}"
    )


def show_predicted(console: Console, found: Predicted) -> None:
    """Print the prediction for people: the answer, its parts, its data."""
    print_lines(console, *in_words(found))
    parts = [(str(part), seconds) for part, seconds in found.parts_s.items()]
    columns = [
        Column[tuple[str, float]]("part", lambda row: row[0]),
        Column[tuple[str, float]]("seconds", lambda row: f"{row[1]:.1f}", right=True),
    ]
    notes = [f"Predicted from {found.evidence}.", *(f"! {warning}." for warning in found.warnings)]
    ReportTable.of("Predicted recovery", parts, columns, notes).show(console)


def in_words(found: Predicted) -> Sequence[str]:
    """Return the answer in a sentence or two."""
    where = f"{found.server}, redo log {format_size(found.log_size)}, pool {format_size(found.buffer_pool)}, on {found.storage}"
    return [
        f"{where}: ready after about {format_duration(found.ready_s)} (50 % of recoveries {_span(found.half)}, 90 % "
        f"{_span(found.ninety)}).",
        *_rolled_back(found),
        f"For {format_size(found.redo)} of redo like that of {found.workload}, {found.dirty_pages:,} dirty pages, "
        f"{noun(found.batches, 'batch', 'batches')}{_binary_log(found)}.",
    ]


def _binary_log(found: Predicted) -> str:
    return f", and a binary log whose last file has {format_size(found.binary_log)}" if found.binary_log else ""


def _rolled_back(found: Predicted) -> Sequence[str]:
    if (
        found.rollback_s is None
        or found.rolled_back_s is None
        or not found.rolled_back_half
        or not found.rolled_back_ninety
    ):
        return []
    return [
        f"The rollback after that takes about {format_duration(found.rollback_s)}: all is rolled back after about "
        f"{format_duration(found.rolled_back_s)} (50 % of recoveries {_span(found.rolled_back_half)}, 90 % "
        f"{_span(found.rolled_back_ninety)})."
    ]


def _span(interval: Interval) -> str:
    least, most = interval.low_s, interval.high_s
    if most < 100:
        return f"{least:.0f}–{most:.0f} s"
    return f"{format_duration(least)} to {format_duration(most)}"
