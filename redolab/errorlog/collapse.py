"""Logs in which a server repeats a message: the first lines with it, and their number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from redolab.errorlog.stamps import records

T = TypeVar("T")

KEPT = 200
"""Lines of one shape that stay in a log; the rest of them is only counted."""
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Repetition:
    """Message that a log repeats more often than anybody reads."""

    text: str
    """The message as it stands first, without what stands before it."""
    times: int


def shape(line: str) -> str:
    """Return a line without its stamps and figures; lines that repeat each other have the same shape."""
    return " ".join(_DIGITS.sub("#", record.text) for record in records(line))


def repetitions(lines: Iterable[str]) -> Sequence[Repetition]:
    """Return the messages that a log has more than `KEPT` times, the most frequent first."""
    first: dict[str, str] = {}
    times: Counter[str] = Counter()
    for line in lines:
        line_shape = shape(line)
        times[line_shape] += 1
        first.setdefault(line_shape, " ".join(record.text for record in records(line)))
    return [Repetition(first[each], count) for each, count in times.most_common() if count > KEPT and each.strip()]


def collapsed(lines: Sequence[str], companions: Sequence[T]) -> Iterator[tuple[str, T | None]]:
    """Yield the lines, each with its companion, without those that repeat what `KEPT` lines before have said.

    A line with their number stands in place of the lines left out.
    """
    times: Counter[str] = Counter()

    def is_repeated(each: tuple[str, T]) -> bool:
        line_shape = shape(each[0])
        times[line_shape] += 1
        return times[line_shape] > KEPT and bool(line_shape.strip())

    for are_repeated, run in groupby(zip(lines, companions, strict=True), is_repeated):
        if are_repeated:
            count = sum(1 for _ in run)
            yield f"[redolab left out {count:,} lines that say what stands above already]", None
        else:
            yield from run
