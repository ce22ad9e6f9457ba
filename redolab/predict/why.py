"""Composition of a prediction: a line for each term, and one for each widening of its interval."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from rich.console import Console

from redolab.predict.extrapolation import widenings
from redolab.predict.question import Model
from redolab.predict.recovery import binary_log_seconds, prepared_seconds, recovery_at
from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.spread import interval
from redolab.predict.recovery_time.terms import TERMS, Part
from redolab.report.table import Column, ReportTable, print_lines
from redolab.units import format_duration

_SAID = {
    HeldOut.CRASH: "another crash",
    HeldOut.LOG_SIZE: "your log is larger than those measured",
    HeldOut.POOL: "no pool like yours was measured",
    HeldOut.STORAGE: "this server was not measured on your storage",
    HeldOut.UNSEEN_STORAGE: "no server of the family was measured on your storage",
    HeldOut.SERVER: "your version was not measured",
    HeldOut.MACHINE: "another machine",
    HeldOut.LIMITED: "another machine, whose disk is limited",
}


class TermSeconds(msgspec.Struct, frozen=True, kw_only=True):
    """One term of a prediction: amount × rate = seconds."""

    part: Part
    about: str
    amount: float
    unit: str
    rate: float
    """Seconds for each unit."""
    seconds: float


class WideningReason(msgspec.Struct, frozen=True, kw_only=True):
    """One reason why the interval is wide."""

    held_out: HeldOut
    factor: float
    """95 % upper bound over prediction, if this were the only reason besides another crash."""


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Terms and widenings of a prediction."""

    terms: tuple[TermSeconds, ...]
    """Terms, the largest first."""
    tables_s: float
    binary_log_s: float
    prepared_s: float
    rollback_s: float
    seconds: float
    widenings: tuple[WideningReason, ...]
    pages_given: bool
    """True if the crash's dirty pages were given; typical ones are less certain."""
    upper_s: float
    """95 % upper bound; the variances of the widenings add up."""


def why(model: Model, log_size: int, age: int | None = None) -> Why:
    """Return the terms of the prediction for a log and checkpoint age; by default of the worst crash."""
    age = model.worst_age(log_size) if age is None else age
    found = recovery_at(model, log_size, age)
    of_binary_log, of_prepared = binary_log_seconds(model), prepared_seconds(model)
    terms = sorted(_terms(model, age), key=lambda each: -each.seconds)
    return Why(
        terms=tuple(terms),
        tables_s=found.seconds - found.rollback - of_binary_log - of_prepared - sum(each.seconds for each in terms),
        binary_log_s=of_binary_log,
        prepared_s=of_prepared,
        rollback_s=found.rollback,
        seconds=found.seconds,
        widenings=tuple(
            WideningReason(held_out=way, factor=interval(1.0, spread)[1])
            for way, spread in widenings(model, log_size).items()
        ),
        pages_given=model.question.dirty_pages is not None,
        upper_s=found.ninety[1],
    )


def _terms(model: Model, age: int) -> Iterator[TermSeconds]:
    work, rates = model.work_at(age), model.fitted.rates
    for term in TERMS:
        amount, rate = term.amount(work, model.disk), rates.get(term.name, 0.0)
        yield TermSeconds(
            part=term.part, about=term.about, amount=amount, unit=term.unit, rate=rate, seconds=amount * rate
        )


def show_why(console: Console, found: Why) -> None:
    """Print the terms for people."""
    columns = [
        Column[TermSeconds]("part", lambda row: str(row.part)),
        Column[TermSeconds]("work", lambda row: row.about),
        Column[TermSeconds]("amount", lambda row: f"{row.amount:.3g} {row.unit}", right=True),
        Column[TermSeconds]("× s each", lambda row: f"{row.rate:.3g}", right=True),
        Column[TermSeconds]("= s", lambda row: f"{row.seconds:.1f}", right=True),
    ]
    ReportTable.of("Why", found.terms, columns, []).show(console)
    print_lines(console, *why_in_words(found))


def why_in_words(found: Why) -> list[str]:
    """Return sentences on the other parts of the prediction, and on its upper bound."""
    more = [
        f"{what}: {format_duration(seconds)}"
        for what, seconds in (
            ("tables", found.tables_s),
            ("binary log", found.binary_log_s),
            ("rollback of the transaction cut off in it", found.prepared_s),
            ("rollback", found.rollback_s),
        )
        if seconds > 0.05
    ]
    pages = [] if found.pages_given else ["dirty pages typical of the workload (--dirty-pages N makes it surer)"]
    reasons = [f"×{each.factor:.2f} {_SAID.get(each.held_out, str(each.held_out))}" for each in found.widenings]
    return [
        *more,
        f"95 % upper bound {format_duration(found.upper_s)} = {format_duration(found.seconds)} × "
        f"{found.upper_s / found.seconds:.2f}: {', '.join(reasons)}; variances add up"
        + "".join(f"; {each}" for each in pages)
        + ".",
    ]
