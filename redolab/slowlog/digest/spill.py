"""The single query times of classes, on the disk once they are many, and exact figures of them."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from redolab.slowlog.digest.classes import Distribution
from redolab.slowlog.digest.stamps import MICROSECONDS

# Rows of (class, time, how many): kept before they are written, and read at a time.
_MOST_KEPT = 250_000
_MOST_READ = 1_000_000
_FEW = 10
_KEYS = ("number", "us")


class Spill:
    """Query times, in temporary files once they are many."""

    def __init__(self, most_kept: int = _MOST_KEPT) -> None:
        self.bytes = 0
        self._most_kept = most_kept
        self._kept: list[pl.DataFrame] = []
        self._rows = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files: list[Path] = []

    def close(self) -> None:
        """Remove the files."""
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, times: pl.DataFrame) -> None:
        """Take rows of `number` (of the class), `us` (microseconds), `n` (executions)."""
        self._kept.append(times)
        self._rows += times.height
        if self._rows >= self._most_kept:
            self._write()

    def figures(self, rows: dict[int, int]) -> Iterator[tuple[int, Distribution, int, float]]:
        """Yield for each class: number, distribution of the times in seconds, outliers, their threshold in seconds.

        `rows`: executions of each class.
        """
        kept = pl.concat(self._kept) if self._kept else None
        for numbers in _batches(rows):
            wanted = pl.col("number").is_in(pl.Series(numbers, dtype=pl.UInt32).implode())
            parts = [pl.scan_parquet(self._files).filter(wanted)] if self._files else []
            if kept is not None:
                parts.append(kept.lazy().filter(wanted))
            times = pl.concat(parts).group_by(_KEYS).agg(pl.col("n").sum()).collect(engine="streaming").sort(_KEYS)
            for (number,), of_class in times.partition_by("number", as_dict=True, include_key=False).items():
                yield int(number), *_figures(of_class["us"], of_class["n"])

    def _write(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="redolab-digest-")
        file = Path(self._folder.name) / f"{len(self._files):06d}.parquet"
        pl.concat(self._kept).group_by(_KEYS).agg(pl.col("n").sum()).sort(_KEYS).write_parquet(file)
        self._files.append(file)
        self.bytes += file.stat().st_size
        self._kept, self._rows = [], 0


def rank(count: int, part: float) -> int:
    """Return the rank, from 1 on, of a percentile, as in pt-query-digest: of a few values, the largest."""
    return count if count < _FEW else math.floor(count * part + 1e-9)


def _batches(rows: dict[int, int]) -> Iterator[Sequence[int]]:
    batch: list[int] = []
    size = 0
    for number, count in sorted(rows.items()):
        if batch and size + count > _MOST_READ:
            yield batch
            batch, size = [], 0
        batch.append(number)
        size += count
    if batch:
        yield batch


def _figures(us: pl.Series, n: pl.Series) -> tuple[Distribution, int, float]:
    upto = n.cast(pl.Int64).cum_sum()
    count = int(upto[-1])

    def at(which: int) -> int:
        return int(us[int(upto.search_sorted(which))])

    total = int((us * n.cast(pl.Int64)).sum())
    mean = total / count
    variance = float((((us - mean) ** 2) * n).sum()) / count
    third, first = at(math.ceil(count * 0.75)), at(math.ceil(count * 0.25))
    fence = third + 3 * (third - first)
    beyond = int(n.filter(us > fence).sum())
    distribution = Distribution(
        total=total / MICROSECONDS,
        min=us[0] / MICROSECONDS,
        max=us[-1] / MICROSECONDS,
        mean=mean / MICROSECONDS,
        median=(at((count + 1) // 2) + at(count // 2 + 1)) / 2 / MICROSECONDS,
        p95=at(rank(count, 0.95)) / MICROSECONDS,
        p99=at(rank(count, 0.99)) / MICROSECONDS,
        stddev=math.sqrt(variance) / MICROSECONDS,
    )
    return distribution, beyond, fence / MICROSECONDS
