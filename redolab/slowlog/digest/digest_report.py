"""Output of a digest, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec
from rich.console import Console

from redolab.report.numbers import NONE
from redolab.report.table import Column, ReportTable, print_lines
from redolab.slowlog.digest.classes import Amount, Digest, QueryClass
from redolab.units import format_duration, format_size, noun

_FINGERPRINT = 100
"""Most characters of a fingerprint in a table."""
_MILLISECOND = 0.001


@dataclass(frozen=True, slots=True)
class _Row:
    rank: str
    share: float
    count: int
    total: float
    each: QueryClass | None
    query: str


def show(digest: Digest, limit: int, console: Console) -> None:
    """Print the answer, the classes that took most of the time, and the parts that were left out."""
    print_lines(console, _answer(digest))
    rows = [
        _Row(str(rank), each.share, each.count, each.seconds.total, each, clipped(each.fingerprint, _FINGERPRINT))
        for rank, each in enumerate(digest.classes[:limit], 1)
    ]
    ReportTable.of("", [*rows, *_rest(digest.classes[limit:])], _COLUMNS, list(_notes(digest))).show(console)


def as_json_line(digest: Digest) -> str:
    """Return the whole digest as one line of JSON."""
    return f"{msgspec.json.encode(digest).decode()}\n"


def write_parquet(digest: Digest, file: Path) -> None:
    """Write a row for each class; names of columns as in the JSON, with `_` between levels. Raises `OSError`."""
    import polars as pl

    rows = [dict(_flat("", msgspec.structs.asdict(each))) for each in digest.classes]
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(file)


def _flat(prefix: str, fields: dict[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in fields.items():
        if isinstance(value, msgspec.Struct):
            yield from _flat(f"{prefix}{name}_", msgspec.structs.asdict(value))
        elif isinstance(value, datetime):
            # One form of a column's times, also where only some have an offset.
            yield f"{prefix}{name}", value.isoformat()
        else:
            yield f"{prefix}{name}", value


def _answer(digest: Digest) -> str:
    queries, classes = noun(digest.count, "query", "queries"), noun(len(digest.classes), "class", "classes")
    total = f"{queries} of {classes} took {_seconds(digest.seconds)}"
    if digest.span_seconds is None or digest.concurrency is None:
        return f"{total}."
    period = f"{_time(digest.first_seen)} to {_time(digest.last_seen)}"
    return (
        f"{total} within {format_duration(digest.span_seconds)} ({period}): "
        f"{_rate(digest.concurrency)} at a time, {_rate(digest.count / digest.span_seconds)} a second."
    )


def _time(moment: datetime | None) -> str:
    if moment is None:
        return NONE
    return moment.replace(tzinfo=None).isoformat(" ", "seconds") + ("Z" if moment.tzinfo else "")


def _rest(classes: Sequence[QueryClass]) -> list[_Row]:
    if not classes:
        return []
    share, count = sum(each.share for each in classes), sum(each.count for each in classes)
    total = sum(each.seconds.total for each in classes)
    return [_Row("", share, count, total, None, f"({len(classes):,} more: --limit, --json, -o FILE.parquet)")]


def clipped(fingerprint: str, length: int) -> str:
    """Return at most so many characters of a fingerprint, on one line."""
    line = " ".join(fingerprint.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def _seconds(seconds: float) -> str:
    if seconds < _MILLISECOND:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else format_duration(seconds)


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _mean(amount: Amount | None) -> str:
    if amount is None:
        return NONE
    return f"{amount.mean:,.0f}" if amount.mean >= 10 or amount.mean == int(amount.mean) else f"{amount.mean:.1f}"


_COLUMNS: Sequence[Column[_Row]] = (
    Column("rank", lambda row: row.rank, right=True),
    Column("time", lambda row: f"{row.share:.1%}", right=True),
    Column("count", lambda row: f"{row.count:,}", right=True),
    Column("total", lambda row: _seconds(row.total), right=True),
    Column("mean", lambda row: "" if row.each is None else _seconds(row.each.seconds.mean), right=True),
    Column("p95", lambda row: "" if row.each is None else _seconds(row.each.seconds.p95), right=True),
    Column("max", lambda row: "" if row.each is None else _seconds(row.each.seconds.max), right=True),
    Column("outliers", lambda row: "" if row.each is None else f"{row.each.outliers:,}", right=True),
    Column("rows sent", lambda row: "" if row.each is None else _mean(row.each.rows_sent), right=True),
    Column("rows examined", lambda row: "" if row.each is None else _mean(row.each.rows_examined), right=True),
    Column("query", lambda row: row.query),
)


def _notes(digest: Digest) -> Iterator[str]:
    skipped = digest.skipped
    yield "rows sent, rows examined: mean of an execution. Percentiles are exact."
    if digest.spilled_bytes:
        yield f"Temporary file of single times: {format_size(digest.spilled_bytes)}, removed."
    if skipped.outside:
        yield f"Left out: {skipped.outside:,} queries outside --since and --until."
    if skipped.cut_off:
        yield f"Left out: {noun(skipped.cut_off, 'record')} that the log breaks off in or begins in the middle of."
    if skipped.without_time:
        yield f"Left out: {skipped.without_time:,} without a query time, or with an impossible one."
    for file in digest.files:
        if file.broken:
            yield f"{file.path}: read to where it is {file.broken}."
    yield from digest.notes
