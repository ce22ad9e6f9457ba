"""Comparison of numbered statements with logs: lost, torn, duplicated, or left out on purpose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from redolab.querylogs.digest.chunks import chunks
from redolab.querylogs.digest.records import Window, records
from redolab.workloads.numbered import PART, WHOLE, Sent

from .experiment import LogCheck

_BLOCK = 1 << 20
_NANOSECONDS = 1e9
_FOR_EVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Found:
    """Content of logs: how often each (client, number) occurs, and how many records are torn."""

    times: Mapping[tuple[int, int], int]
    torn: int


@dataclass(frozen=True, slots=True)
class Excused:
    """Reasons why a statement may be missing from the logs; times in nanoseconds of CLOCK_MONOTONIC."""

    held: tuple[int, int] | None = None
    """Beginning and end of the pause of logging; None if logging was never paused."""
    removed_until: int | None = None
    """Time before which a statement may have gone with the old file; None if no file is removed."""


def found_in(logs: Sequence[tuple[Path, int]]) -> Found:
    """Return the content of these logs, each from a byte at which a record begins. Raises `OSError`."""
    times: dict[tuple[int, int], int] = {}
    torn = 0
    for path, offset in logs:
        end = _whole(path, offset)
        torn += path.stat().st_size > end
        for chunk in chunks(_blocks(path, offset, end)):
            if not chunk.content:
                continue
            read = records(chunk, Window())
            counted, in_part = numbers_in(read.table["text"])
            torn += in_part + read.cut_off + read.without_time
            for key, count in counted.items():
                times[key] = times.get(key, 0) + count
    return Found(times, torn)


def numbers_in(texts: pl.Series) -> tuple[dict[tuple[int, int], int], int]:
    """Count each (client, number) among these texts of statements, and the torn records."""
    text = pl.col("text")
    frame = texts.alias("text").to_frame().filter(text.str.contains(PART))
    found = frame.select(groups=text.str.extract_groups(WHOLE)).unnest("groups")
    number, client, again = (pl.col(name).cast(pl.Int64, strict=False) for name in found.columns)
    whole = found.select(number=number, client=client, again=again).filter(pl.col("number") == pl.col("again"))
    counted = whole.group_by("client", "number").len()
    return {(client, number): count for client, number, count in counted.iter_rows()}, frame.height - whole.height


def checked(sent: Sequence[Sent], found: Found, excused: Excused) -> LogCheck:
    """Compare the statements that clients sent, numbered by position, with those found in the logs.

    The server logs a statement after it has answered, before it reads the client's next. A statement sent before the
    pause of logging may therefore be missing, too. A number in the logs that no client sent is a torn record.
    """
    lost_at: list[int] = []
    logged = unlogged = removed = 0
    for client, of_client in enumerate(sent):
        missing = ~_is_logged(client, len(of_client.sent), found.times)
        logged += int((~missing).sum())
        held = missing & _was_held(of_client, excused.held)
        is_removed = missing & ~held & (of_client.sent < (excused.removed_until or 0))
        removed, unlogged = removed + int(is_removed.sum()), unlogged + int(held.sum())
        lost_at += of_client.sent[missing & ~is_removed & ~held].tolist()
    return LogCheck(
        sent=sum(len(of_client.sent) for of_client in sent),
        logged=logged,
        lost=len(lost_at),
        lost_s=(max(lost_at) - min(lost_at)) / _NANOSECONDS if lost_at else 0.0,
        unlogged=unlogged,
        removed=removed,
        twice=sum(count > 1 for count in found.times.values()),
        torn=found.torn + sum(not _was_sent(sent, client, number) for client, number in found.times),
    )


def longest_ms(sent: Sequence[Sent], began: int, ended: int) -> float:
    """Return the longest answer, in milliseconds from when it was sent, to a statement in flight between two times.

    0 if there is none.
    """
    took = [
        (each.answered - each.sent)[(each.sent <= ended) & (each.answered >= began)].max(initial=0) for each in sent
    ]
    return float(max(took, default=0)) / 1e6


def _is_logged(client: int, count: int, times: Mapping[tuple[int, int], int]) -> NDArray[np.bool_]:
    return np.fromiter(((client, number) in times for number in range(1, count + 1)), dtype=np.bool_, count=count)


def _was_held(of_client: Sent, held: tuple[int, int] | None) -> NDArray[np.bool_]:
    if held is None:
        return np.zeros(len(of_client.sent), dtype=np.bool_)
    next_answered = np.append(of_client.answered[1:], _FOR_EVER)
    result: NDArray[np.bool_] = (of_client.sent <= held[1]) & (next_answered >= held[0])
    return result


def _was_sent(sent: Sequence[Sent], client: int, number: int) -> bool:
    return 0 <= client < len(sent) and 1 <= number <= len(sent[client].sent)


def _whole(path: Path, offset: int) -> int:
    """Return the offset at which the last whole record of a log ends; a torn one may follow."""
    size = path.stat().st_size
    begin = max(offset, size - _BLOCK)
    with path.open("rb") as file:
        file.seek(begin)
        rest = file.read()
    # A log may have been cut before the newline that ends it; one that was just opened has the server's lines alone.
    found = rest.rfind(b";\n")
    if rest.endswith(b";") or found < 0:
        return size
    return begin + found + 2


def _blocks(path: Path, offset: int, end: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(offset)
        while block := file.read(min(_BLOCK, max(0, end - file.tell()))):
            yield block
