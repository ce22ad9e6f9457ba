"""Choice of the power cuts to examine in a recorded load: their time, and the writes that survive."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from redolab.powercut.ledger import Ledger
from redolab.powercut.recording import DiskEvent, Recording
from redolab.powercut.states import History, PowerCut, Survivors
from redolab.units import KIB


class CutTime(StrEnum):
    """Time of a power cut, relative to the recorded load."""

    AT_RANDOM = "at random"
    AFTER_COMMIT = "right after a commit was acknowledged"
    AFTER_FLUSH = "right after a flush was answered"
    BEFORE_FLUSH = "right before a flush"
    INSIDE_FLUSH = "while a flush was under way"
    KILLED = "SIGKILL, and no power cut"
    MACHINE = "of the machine, for real"
    """Cut of a virtual machine's power. Only in older runs; the lab no longer does it."""
    BESIDE_PAGES = "while pages were written and not yet flushed"


class Cuts(StrEnum):
    """Choice of the cuts of a recorded load."""

    SAMPLED = "at random"
    """At times drawn at random. Shares of these cuts are estimates."""
    SEARCHED = "searched"
    """At times at which a fault would show. Shares of these cuts mean nothing."""
    KILLED = "killed"
    """State that SIGKILL left beside the cuts, without a loss of power."""
    MACHINE = "of the machine"
    """Real cuts of a virtual machine's power, in runs of November 2026 alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnCut:
    """A cut, and the time at which it was in the load."""

    moment: CutTime
    time: int
    """Time of the cut in nanoseconds of CLOCK_MONOTONIC; acknowledgements up to it came before the cut."""
    cut: PowerCut


_ENUMERATED = (CutTime.AFTER_COMMIT, CutTime.AFTER_FLUSH, CutTime.BEFORE_FLUSH, CutTime.INSIDE_FLUSH)
_OF_TORN_WRITES = (CutTime.BESIDE_PAGES, CutTime.AFTER_COMMIT, CutTime.BESIDE_PAGES, CutTime.BEFORE_FLUSH)
"""Times at which a torn write would show. Half of them lie while pages are at risk, which chance rarely hits."""
_PAGES = 8 * KIB
"""Size in bytes from which a write may be of pages: most writes of redo and binary log are smaller."""
_SURVIVORS = tuple(each for each in Survivors if each is not Survivors.TORN)


def without_cut(recording: Recording, killed: int) -> DrawnCut:
    """Return the cut that stands for SIGKILL at the end of a recording: every write survives."""
    cut = PowerCut(place=recording.places, survivors=Survivors.ALL)
    return DrawnCut(moment=CutTime.KILLED, time=killed, cut=cut)


def sampled_cuts(recording: Recording, began: int, ended: int, count: int, seed: str) -> list[DrawnCut]:
    """Return cuts at random times, without survivors and with half of them in turn, for estimates of shares."""
    draw = random.Random(f"{seed} sampled")
    cuts = []
    for number in range(count):
        time = draw.randrange(began, ended)
        survivors = (Survivors.NONE, Survivors.RANDOM)[number % 2]
        cut = PowerCut(place=recording.place_at(time), survivors=survivors, seed=draw.randrange(2**32))
        cuts.append(DrawnCut(moment=CutTime.AT_RANDOM, time=time, cut=cut))
    return cuts


def searched_cuts(
    history: History, ledger: Ledger, began: int, ended: int, count: int, seed: str, *, torn: bool = False
) -> list[DrawnCut]:
    """Return cuts where a fault is likely: every kind of time and of survivors. Not for estimates of shares."""
    draw = random.Random(f"{seed} searched")
    places = _Places.within(history, ledger, began, ended)
    kinds = [each for each in (_OF_TORN_WRITES if torn else _ENUMERATED) if places.has(each)]
    cuts = []
    for number in range(count if kinds else 0):
        moment = kinds[number % len(kinds)]
        survivors = Survivors.TORN if torn else _SURVIVORS[(number // len(kinds)) % len(_SURVIVORS)]
        place, time = places.drawn(moment, draw)
        cut = PowerCut(place=place, survivors=survivors, seed=draw.randrange(2**32))
        cuts.append(DrawnCut(moment=moment, time=time, cut=cut))
    return cuts


@dataclass(frozen=True, slots=True)
class _Places:
    """Parts of a recording that lie within the load."""

    history: History
    commits: Sequence[int]
    """Times of the acknowledgements, in nanoseconds of CLOCK_MONOTONIC."""
    flushes: Sequence[int]
    pages: Sequence[int]
    """Numbers of writes that may be of pages."""
    last: int

    @classmethod
    def within(cls, history: History, ledger: Ledger, began: int, ended: int) -> _Places:
        """Return the acknowledgements, flushes and page writes between two times."""
        recording = history.recording
        first, last = recording.place_at(began), recording.place_at(ended)

        def is_within(number: int) -> bool:
            return bool(first <= recording.asked[number] and recording.answered[number] <= last)

        return cls(
            history,
            [time for time in ledger.acknowledgements if began <= time <= ended],
            [number for number in recording.flushes.tolist() if is_within(number)],
            [
                number
                for number in np.flatnonzero(
                    (recording.event == DiskEvent.WRITE) & (recording.length >= _PAGES)
                ).tolist()
                if not recording.failed[number] and is_within(number)
            ],
            last,
        )

    def has(self, moment: CutTime) -> bool:
        """Return True if the load has such a time."""
        return bool({CutTime.AFTER_COMMIT: self.commits, CutTime.BESIDE_PAGES: self.pages}.get(moment, self.flushes))

    def drawn(self, moment: CutTime, draw: random.Random) -> tuple[int, int]:
        """Draw a cut at such a time. Return its place in the recording and its time."""
        recording = self.history.recording
        if moment is CutTime.AFTER_COMMIT:
            time = draw.choice(self.commits)
            return recording.place_at(time), time
        if moment is CutTime.BESIDE_PAGES:
            write = draw.choice(self.pages)
            came = int(recording.asked[write]) + 1
            place = draw.randrange(came, max(came + 1, min(self.last, self.history.at_risk_until(write))))
            return place, int(recording.times[place - 1])
        flush = draw.choice(self.flushes)
        asked, answered = int(recording.asked[flush]), int(recording.answered[flush])
        match moment:
            case CutTime.AFTER_FLUSH:
                place = answered
            case CutTime.BEFORE_FLUSH:
                place = asked
            case _:
                place = draw.randrange(asked + 1, max(asked + 2, answered))
        return place, int(recording.times[place - 1]) if place else int(np.min(recording.times))
