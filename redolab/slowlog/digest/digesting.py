"""Files in, a digest out."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from redolab.errors import LabError
from redolab.machine.interrupts import unwinding
from redolab.slowlog.digest.chunks import CHUNK, LONGEST, Chunk, chunks
from redolab.slowlog.digest.classes import Amount, Digest, Distribution, QueryClass, ReadFile
from redolab.slowlog.digest.fingerprints import checksum
from redolab.slowlog.digest.records import Window, as_text
from redolab.slowlog.digest.sources import Stream, check_kind, in_order
from redolab.slowlog.digest.spill import Spill
from redolab.slowlog.digest.stamps import MICROSECONDS, moment_at
from redolab.slowlog.digest.tallies import Summary, Tallies, summarise
from redolab.units import format_size

_TOO_LONG = f"Of records longer than {format_size(LONGEST)} only beginning and end are read: {{}} left out."


def digest(
    paths: Sequence[Path], *, since: datetime | None = None, until: datetime | None = None, chunk: int = CHUNK
) -> Digest:
    """Return the digest of slow query logs: single logs, or rotated sets, whose files are put in their order.

    `since`, `until`: limits of the stamps; `until` itself is excluded. Limits without an offset are compared with the
    stamps as they are, limits with one in UTC. `chunk`: bytes that are read at a time. Raises `LabError` for a file
    that is no slow query log, and if no query is found; `OSError` for a file that cannot be read.
    """
    window = Window(since, until)
    for path in paths:
        check_kind(path)
    stream, tallies = Stream(in_order(paths)), Tallies()
    with unwinding(), closing(Spill()) as spill:
        for summary in _summaries(chunks(stream.blocks(), chunk), window):
            spill.add(tallies.add(summary))
        rows = {row["number"]: row for row in tallies.sums().iter_rows(named=True)}
        if not rows:
            raise _nothing(stream.files, tallies, window)
        total = sum(row["us"] for row in rows.values())
        classes = [
            _query_class(tallies, rows[number], distribution, total, outliers, beyond)
            for number, distribution, outliers, beyond in spill.figures({n: row["count"] for n, row in rows.items()})
        ]
        classes.sort(key=lambda each: (-each.seconds.total, each.fingerprint))
        moments = [moment for each in classes for moment in (each.first_seen, each.last_seen) if moment]
        return Digest(
            classes=classes,
            count=sum(each.count for each in classes),
            seconds=total / MICROSECONDS,
            first_seen=min(moments, key=_order, default=None),
            last_seen=max(moments, key=_order, default=None),
            files=stream.files,
            skipped=tallies.skipped,
            spilled_bytes=spill.bytes,
            notes=[_TOO_LONG.format(format_size(tallies.dropped))] if tallies.dropped else [],
        )


def _summaries(pieces: Iterable[Chunk], window: Window) -> Iterator[Summary]:
    """Yield the chunks' summaries in the chunks' order, with only a few chunks in memory at a time."""
    # One more than can run: what a worker does with Python's lock, another has to wait for.
    workers = (os.cpu_count() or 1) + 1
    waiting: deque[Future[Summary]] = deque()
    # polars does its work without Python's lock.
    with ThreadPoolExecutor(workers) as pool:
        for piece in pieces:
            waiting.append(pool.submit(summarise, piece, window))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _query_class(
    tallies: Tallies, row: dict[str, Any], seconds: Distribution, total: int, outliers: int, beyond: float
) -> QueryClass:
    fingerprint = tallies.fingerprints[row["number"]]
    return QueryClass(
        fingerprint=as_text(fingerprint),
        id=checksum(fingerprint),
        count=row["count"],
        seconds=seconds,
        share=row["us"] / total if total else 0.0,
        lock_seconds=_amount(row, "lock_us", MICROSECONDS),
        rows_sent=_amount(row, "sent"),
        rows_examined=_amount(row, "examined"),
        bytes=_amount(row, "bytes") or Amount(total=0, max=0, mean=0),
        first_seen=moment_at(row["first"], row["zoned"]),
        last_seen=moment_at(row["last"], row["zoned"]),
        outliers=outliers,
        outlier_seconds=beyond,
        example=tallies.slowest[row["number"]],
    )


def _amount(row: dict[str, Any], measure: str, unit: int = 1) -> Amount | None:
    """Return total, maximum and mean of one measure of a class; None if no record had it."""
    count = row[f"{measure}_count"]
    if not count:
        return None
    total = row[f"{measure}_sum"]
    return Amount(total=total / unit, max=row[f"{measure}_max"] / unit, mean=total / unit / count)


def _order(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)


def _nothing(files: Sequence[ReadFile], tallies: Tallies, window: Window) -> LabError:
    names = ", ".join(file.path for file in files)
    skipped = tallies.skipped
    if skipped.outside:
        asked = " and ".join(
            f"{word} {moment.isoformat(' ')}"
            for word, moment in (("since", window.since), ("before", window.until))
            if moment is not None
        )
        return LabError(f"{names}: none of its {skipped.outside:,} queries is {asked}", "compare with its # Time lines")
    if not any(file.bytes for file in files):
        broken = "".join(f" ({file.broken})" for file in files if file.broken)
        return LabError(f"{names}: no query in it: it is empty{broken}")
    if not skipped.cut_off + skipped.without_time:
        return LabError(f"{names}: no query in it: a slow query log that has only its first lines")
    if skipped.bytes and skipped.cut_off + skipped.without_time == 1:
        return LabError(f"{names}: no query in it: it has no line '# User@Host: …', so it is no slow query log")
    return LabError(
        f"{names}: no whole query in it: {skipped.cut_off:,} cut off, {skipped.without_time:,} without a query time"
    )
