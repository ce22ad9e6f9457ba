"""Explanation of a faulty crash state: the fewest lost writes that cause the fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeVar

import msgspec

from redolab.powercut.states import SECTOR, DiskState, History, Lost, PowerCut

_SECTORS_APART = 64
"""Largest number of sectors that are tried one by one."""
T = TypeVar("T")


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Writes whose loss causes a fault."""

    place: int
    """Place of the cut in its recording."""
    taken: int
    """Writes that the cut took, in whole or in part."""
    losses: tuple[Lost, ...]
    """Smallest loss found that still shows the fault; empty if the fault shows without any loss."""
    words: tuple[str, ...] = ()
    """Descriptions of the losses, a line each."""
    tried: int = 0
    """Crash states recovered for this explanation."""

    @property
    def writes(self) -> int:
        """Writes of which something had to be lost."""
        return len({each.number for each in self.losses})


def explained(history: History, cut: PowerCut, is_red: Callable[[DiskState], bool], tries: int) -> Explanation:
    """Find the fewest losses of a cut that still show the fault, within a limit of tries; `is_red` recovers a state.

    Raises `LabError`.
    """
    losses = history.losses(cut)
    known: dict[str, bool] = {}

    def shows(some: Sequence[Lost]) -> bool:
        state = history.state_without(cut.place, some)
        if state.hash not in known:
            if len(known) == tries:
                raise OutOfTries
            known[state.hash] = is_red(state)
        return known[state.hash]

    needed = fewest_losses(losses, shows)
    return Explanation(
        place=cut.place,
        taken=len({each.number for each in losses}),
        losses=tuple(needed),
        words=tuple(_in_words(history, each) for each in needed),
        tried=len(known),
    )


def _in_words(history: History, lost: Lost) -> str:
    first = int(history.recording.offset[lost.number]) // SECTOR + lost.first
    return f"{lost.count} of {history.length(lost.number)} sectors of a write, at sector {first:,} of the disk"


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
