"""Sums for each class from tables of records, in the order of the log."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from redolab.slowlog.digest.chunks import Chunk
from redolab.slowlog.digest.classes import Example, Skipped
from redolab.slowlog.digest.fingerprints import fingerprint
from redolab.slowlog.digest.records import Window, as_bytes, as_text, records
from redolab.slowlog.digest.shapes import with_shapes
from redolab.slowlog.digest.stamps import MICROSECONDS, moment_at

_EXAMPLE_BYTES = 65_536
_AMOUNTS = ("lock_us", "sent", "examined", "bytes")
_ADDED_EVERY = 64


@dataclass(frozen=True, slots=True)
class Summary:
    """A chunk by its shapes, as a worker hands it to the digest.

    `sums`: a row for each shape; `times`: rows of `shape`, `us`, `n`; `slowest`: a row of the records for each shape;
    `database`: the last that the chunk names; `dropped`: bytes left out of a record that is too long.
    """

    sums: pl.DataFrame
    times: pl.DataFrame
    slowest: pl.DataFrame
    database: str | None
    skipped: Skipped
    dropped: int


def summarise(chunk: Chunk, window: Window) -> Summary:
    """Summarise a chunk. Nothing else is changed, so several threads can do it at once."""
    chunk_records = records(chunk, window)
    table = with_shapes(chunk_records.table.with_columns(pl.col("database").forward_fill()))
    table = table.with_row_index("place")
    sums = table.group_by("shape").agg(_sums())
    slowest = (
        table.select("shape", "us", "row", "place")
        .sort("us", "row", descending=[True, False])
        .unique("shape", keep="first")
        .get_column("place")
    )
    return Summary(
        sums=sums,
        times=table.group_by("shape", "us").agg(n=pl.len()),
        slowest=table[slowest].drop("place"),
        database=chunk_records.last_database,
        skipped=chunk_records.skipped,
        dropped=chunk.dropped,
    )


def _sums() -> list[pl.Expr]:
    amounts = [
        getattr(pl.col(name), what)().alias(f"{name}_{what}") for name in _AMOUNTS for what in ("sum", "max", "count")
    ]
    return [
        pl.len().cast(pl.Int64).alias("count"),
        pl.col("us").sum(),
        *amounts,
        pl.col("at").min().alias("first"),
        pl.col("at").max().alias("last"),
        pl.col("zoned").any(),
    ]


def _added() -> list[pl.Expr]:
    summed = [f"{name}_{what}" for name in _AMOUNTS for what in ("sum", "count")]
    return [
        pl.col("count", "us", *summed).sum(),
        pl.col(*(f"{name}_max" for name in _AMOUNTS), "last").max(),
        pl.col("first").min(),
        pl.col("zoned").any(),
    ]


@dataclass
class Tallies:
    """Sums of all chunks that were added, by classes: a class's number is its place in `fingerprints`."""

    fingerprints: list[bytes] = field(default_factory=list)
    slowest: dict[int, Example] = field(default_factory=dict)
    """Slowest execution of each class, the first of equal ones."""
    skipped: Skipped = field(default_factory=Skipped)
    dropped: int = 0
    """Bytes left out of records that are too long."""
    _numbers: dict[bytes, int] = field(default_factory=dict)
    _number_of_shape: dict[int, int] = field(default_factory=dict)
    _sums: list[pl.DataFrame] = field(default_factory=list)
    _database: str | None = None

    def add(self, summary: Summary) -> pl.DataFrame:
        """Add a chunk, the one behind the chunk before. Returns its times: `number` of the class, `us`, `n`."""
        self.skipped = Skipped(
            outside=self.skipped.outside + summary.skipped.outside,
            cut_off=self.skipped.cut_off + summary.skipped.cut_off,
            without_time=self.skipped.without_time + summary.skipped.without_time,
            bytes=self.skipped.bytes + summary.skipped.bytes,
        )
        self.dropped += summary.dropped
        shapes = summary.slowest["shape"].to_list()
        for row, shape in enumerate(shapes):
            if shape not in self._number_of_shape:
                text = as_bytes(summary.slowest["text"][row])
                self._number_of_shape[shape] = self._number(fingerprint(text))
        numbered = pl.DataFrame(
            {"shape": shapes, "number": [self._number_of_shape[shape] for shape in shapes]},
            schema={"shape": pl.UInt64, "number": pl.UInt32},
        )
        self._take_slowest(summary, numbered)
        self._database = summary.database or self._database
        self._sums.append(_by_class(summary.sums.join(numbered, on="shape")))
        if len(self._sums) > _ADDED_EVERY:
            self._sums = [self.sums()]
        return summary.times.join(numbered, on="shape").select("number", "us", "n")

    def sums(self) -> pl.DataFrame:
        """Return a row for each class: `number`, `count`, `us`, sums, maxima and counts, `first`, `last`, `zoned`."""
        return _by_class(pl.concat(self._sums))

    def _number(self, text: bytes) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.fingerprints)
            self.fingerprints.append(text)
        return self._numbers[text]

    def _take_slowest(self, summary: Summary, numbered: pl.DataFrame) -> None:
        rows = summary.slowest.join(numbered, on="shape").sort("us", "row", descending=[True, False])
        for row in rows.unique("number", keep="first").iter_rows(named=True):
            best = self.slowest.get(row["number"])
            if best is not None and best.seconds >= row["us"] / MICROSECONDS:
                continue
            database = row["database"] or self._database
            self.slowest[row["number"]] = Example(
                text=as_text(as_bytes(row["text"][:_EXAMPLE_BYTES])),
                seconds=row["us"] / MICROSECONDS,
                lock_seconds=None if row["lock_us"] is None else row["lock_us"] / MICROSECONDS,
                rows_sent=row["sent"],
                rows_examined=row["examined"],
                database=as_text(as_bytes(database)) if database else None,
                at=moment_at(row["at"], row["zoned"]),
                cut=len(row["text"]) > _EXAMPLE_BYTES,
            )


def _by_class(sums: pl.DataFrame) -> pl.DataFrame:
    return sums.group_by("number").agg(_added())
