"""Search for the fewest lost writes that still show what a cut has shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeVar

from redolab.powercut.states import Lost

_SECTORS_APART = 64
"""Largest number of sectors that are tried one by one."""
T = TypeVar("T")


class OutOfTries(Exception):
    """The limit of tries is reached."""


def fewest(items: Sequence[T], shows: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a subset of `items` that still shows and needs each of its items; empty if none is needed.

    Delta debugging: halves, then quarters, each piece and each complement (Zeller and Hildebrandt, Simplifying and
    Isolating Failure-Inducing Input, 2002). If `shows` raises `OutOfTries`, the result is the smallest subset found
    so far.
    """
    found, parts = list(items), 2
    try:
        if not found or shows([]):
            return []
        while len(found) > 1:
            size = -(-len(found) // parts)
            pieces = [found[start : start + size] for start in range(0, len(found), size)]
            smaller = next((each for each in pieces if shows(each)), None)
            if smaller is not None:
                found, parts = smaller, 2
                continue
            rests = ([item for other in pieces if other is not each for item in other] for each in pieces)
            rest = next((each for each in rests if len(each) < len(found) and shows(each)), None)
            if rest is not None:
                found, parts = rest, max(2, parts - 1)
            elif parts < len(found):
                parts = min(len(found), 2 * parts)
            else:
                break
    except OutOfTries:
        pass
    return found


def fewest_losses(losses: Sequence[Lost], shows: Callable[[Sequence[Lost]], bool]) -> list[Lost]:
    """Return the smallest loss that still shows: first whole writes are left out, then parts, then single sectors."""
    of_write = [list(group) for _, group in groupby(sorted(losses), key=lambda each: each.number)]
    writes = fewest(of_write, lambda some: shows([each for write in some for each in write]))
    parts = fewest([each for write in writes for each in write], shows)
    if sum(each.count for each in parts) > _SECTORS_APART:
        return parts
    single = [Lost(each.number, sector, 1) for each in parts for sector in range(each.first, each.first + each.count)]
    return _joined(fewest(single, shows))


def _joined(sectors: Sequence[Lost]) -> list[Lost]:
    found: list[Lost] = []
    for each in sorted(sectors):
        last = found[-1] if found else None
        if last is not None and (last.number, last.first + last.count) == (each.number, each.first):
            found[-1] = Lost(last.number, last.first, last.count + each.count)
        else:
            found.append(each)
    return found
