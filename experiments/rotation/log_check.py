"""Statements that clients sent, compared with those in the old and the new log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import polars as pl

    from redolab.workloads.numbered import Sent

SECOND = 1_000_000_000
"""Nanoseconds in a second."""
_READ = 1 << 20
"""Bytes of a log that are read at a time."""


class LogCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of the numbered statements sent with the old and the new log; counts of statements."""

    sent: int
    logged: int
    """Statements found in the logs."""
    lost: int
    """Statements missing from the logs without a reason."""
    lost_s: float
    """Seconds from the first lost statement to the last, by the time they were sent."""
    unlogged: int
    """Statements missing because logging was paused."""
    removed: int
    """Statements missing because the file that held them was removed."""
    twice: int
    """Statements in the logs more than once."""
    torn: int
    """Torn records in the logs."""


@dataclass(frozen=True, slots=True)
class LogContent:
    """Content of logs: how often each (client, number) occurs, and how many records are torn."""

    times: Mapping[tuple[int, int], int]
    torn: int


def read_logs(logs: Sequence[tuple[Path, int]]) -> LogContent:
    """Return the content of these logs, each from a byte at which a record begins. Raises `OSError`."""
    from redolab.slowlog.digest.chunks import chunks
    from redolab.slowlog.digest.records import Window, records

    times: dict[tuple[int, int], int] = {}
    torn = 0
    for path, offset in logs:
        with path.open("rb") as file:
            file.seek(offset)
            content = file.read()
        # A log may end before its last newline; a new log may have the server's first lines alone.
        end = content.rfind(b";\n") + 2
        whole = content if content.endswith(b";") or end < 2 else content[:end]
        torn += len(content) > len(whole)
        for chunk in chunks(whole[at : at + _READ] for at in range(0, len(whole), _READ)):
            if not chunk.content:
                continue
            read = records(chunk, Window())
            counted, in_part = count_numbers(read.table["text"])
            torn += in_part + read.skipped.cut_off + read.skipped.without_time
            for key, count in counted.items():
                times[key] = times.get(key, 0) + count
    return LogContent(times, torn)


def count_numbers(texts: pl.Series) -> tuple[dict[tuple[int, int], int], int]:
    """Count each (client, number) among these texts of statements, and the torn records."""
    import polars as pl

    from redolab.workloads.numbered import PART, WHOLE

    text = pl.col("text")
    frame = texts.alias("text").to_frame().filter(text.str.contains(PART))
    found = frame.select(groups=text.str.extract_groups(WHOLE)).unnest("groups")
    number, client, again = (pl.col(name).cast(pl.Int64, strict=False) for name in found.columns)
    whole = found.select(number=number, client=client, again=again).filter(pl.col("number") == pl.col("again"))
    counted = whole.group_by("client", "number").len()
    return {(client, number): count for client, number, count in counted.iter_rows()}, frame.height - whole.height


def check_logs(
    sent: Sequence[Sent], content: LogContent, pause: tuple[int, int] | None = None, removed_until: int = 0
) -> LogCheck:
    """Compare the statements that clients sent, numbered by position, with those found in the logs.

    A statement may be missing if logging was paused meanwhile, from `pause[0]` to `pause[1]`, or if it was sent before
    `removed_until` and went with the old file. The server logs a statement after it has answered, before it reads the
    client's next. A statement sent before the pause of logging may therefore be missing, too. A number in the logs that
    no client sent is a torn record.
    """
    import numpy as np

    for_ever = np.iinfo(np.int64).max
    pause_began, pause_ended = pause or (for_ever, -1)
    lost_at: list[int] = []
    logged = unlogged = removed = 0
    for client, each in enumerate(sent):
        numbers = range(1, len(each.sent) + 1)
        missing = np.array([(client, number) not in content.times for number in numbers], dtype=np.bool_)
        next_answered = np.append(each.answered[1:], for_ever)
        was_unlogged = missing & (each.sent <= pause_ended) & (next_answered >= pause_began)
        was_removed = missing & ~was_unlogged & (each.sent < removed_until)
        logged += int((~missing).sum())
        unlogged, removed = unlogged + int(was_unlogged.sum()), removed + int(was_removed.sum())
        lost_at += each.sent[missing & ~was_unlogged & ~was_removed].tolist()
    return LogCheck(
        sent=sum(len(each.sent) for each in sent),
        logged=logged,
        lost=len(lost_at),
        lost_s=(max(lost_at) - min(lost_at)) / SECOND if lost_at else 0.0,
        unlogged=unlogged,
        removed=removed,
        twice=sum(count > 1 for count in content.times.values()),
        torn=content.torn
        + sum(not (client < len(sent) and 1 <= number <= len(sent[client].sent)) for client, number in content.times),
    )


def longest_answer_ms(sent: Sequence[Sent], began: int, ended: int) -> float:
    """Return the longest answer, in milliseconds from when it was sent, to a statement in flight between two times.

    0 if there is none.
    """
    took = [
        (each.answered - each.sent)[(each.sent <= ended) & (each.answered >= began)].max(initial=0) for each in sent
    ]
    return float(max(took, default=0)) / 1e6
