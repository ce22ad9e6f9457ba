"""Which cuts are looked at of a recorded load: moments, and what survives."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from redolab.powercut.ledger import Ledger
from redolab.powercut.recording import Recording
from redolab.powercut.states import PowerCut, Survivors


class Moment(StrEnum):
    """When the power goes."""

    AT_RANDOM = "at random"
    AFTER_COMMIT = "right after a commit was acknowledged"
    AFTER_FLUSH = "right after a flush was answered"
    BEFORE_FLUSH = "right before a flush"
    INSIDE_FLUSH = "while a flush was under way"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnCut:
    """A cut, and the time at which it was in the load."""

    moment: Moment
    time: int
    """Nanoseconds of CLOCK_MONOTONIC: what was acknowledged by then was acknowledged before the cut."""
    cut: PowerCut


_ENUMERATED = (Moment.AFTER_COMMIT, Moment.AFTER_FLUSH, Moment.BEFORE_FLUSH, Moment.INSIDE_FLUSH)
_SURVIVORS = tuple(each for each in Survivors if each is not Survivors.TORN)


def sampled_cuts(recording: Recording, began: int, ended: int, count: int, seed: str) -> list[DrawnCut]:
    """Cuts at times drawn at random, by turns without any survivor and by a fair coin: of these shares can be told."""
    draw = random.Random(f"{seed} sampled")
    found = []
    for number in range(count):
        time = draw.randrange(began, ended)
        survivors = (Survivors.NONE, Survivors.RANDOM)[number % 2]
        cut = PowerCut(place=recording.place_at(time), survivors=survivors, seed=draw.randrange(2**32))
        found.append(DrawnCut(moment=Moment.AT_RANDOM, time=time, cut=cut))
    return found


def searched_cuts(
    recording: Recording, ledger: Ledger, began: int, ended: int, count: int, seed: str, *, torn: bool = False
) -> list[DrawnCut]:
    """Cuts where a fault would show: every kind of moment with every kind of survivors by turns. Of these no shares can be told."""
    draw = random.Random(f"{seed} searched")
    commits = [time for time in ledger.acknowledgements if began <= time <= ended]
    within = recording.place_at(began), recording.place_at(ended)
    flushes = [
        number for number in recording.flushes.tolist() if within[0] <= recording.asked[number] and recording.answered[number] <= within[1]
    ]  # fmt: skip
    kinds = [each for each in _ENUMERATED if (commits if each is Moment.AFTER_COMMIT else flushes)]
    found = []
    for number in range(count if kinds else 0):
        moment = kinds[number % len(kinds)]
        survivors = Survivors.TORN if torn else _SURVIVORS[(number // len(kinds)) % len(_SURVIVORS)]
        place, time = _where(moment, recording, commits, flushes, draw)
        cut = PowerCut(place=place, survivors=survivors, seed=draw.randrange(2**32))
        found.append(DrawnCut(moment=moment, time=time, cut=cut))
    return found


def _where(
    moment: Moment, recording: Recording, commits: Sequence[int], flushes: Sequence[int], draw: random.Random
) -> tuple[int, int]:
    """The place of a cut of that kind, and its time."""
    if moment is Moment.AFTER_COMMIT:
        time = draw.choice(commits)
        return recording.place_at(time), time
    flush = draw.choice(flushes)
    asked, answered = int(recording.asked[flush]), int(recording.answered[flush])
    match moment:
        case Moment.AFTER_FLUSH:
            place = answered
        case Moment.BEFORE_FLUSH:
            place = asked
        case _:
            place = draw.randrange(asked + 1, max(asked + 2, answered))
    return place, int(recording.times[place - 1]) if place else int(np.min(recording.times))
