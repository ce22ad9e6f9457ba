"""Rates of servers from measured recoveries: non-negative least squares, each part of the time by itself.

What a disk takes by fio's figures is a server's way to use it, and not a workload's: these rates are one for all workloads of a
server, and those of the servers of a family are held together, so that who was measured on one disk alone takes them from others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, solve_triangular
from scipy.optimize import nnls

from redolab.models.recovery_time.terms import TERMS, DiskRates, Part, Separable, seconds_by_part
from redolab.models.recovery_time.work import Crash, Memory, Work, work

_Whose: TypeAlias = "Subject | str | None"
"""Whose rate a column is: a subject's, a server's, or the family's."""
Subject: TypeAlias = tuple[str, str]
"""Whose rates are learnt: those of a server under a workload. Redo of another kind takes a server another time."""

_FOR_A_BYTE = np.arange(0.3, 6.0, 0.02)
"""Bytes of the pool that are tried."""
_NOTHING = 1e-12
_LITTLE = 1e-10
"""Of a column's own square: what is added to it, so that columns that go together can be solved for."""
_HELD_TOGETHER = 0.3
"""How much servers of a family are held to one rate of a disk, against what their recoveries say of it: of 0.003, 0.03 and 0.3 that
with which storages left out were predicted best."""
_UNKNOWN_NEED = 2.0
"""Bytes of the pool for a byte of redo where no log told the batches: between those of MariaDB and MySQL."""


class Struck(StrEnum):
    """What a crash found: in full logs redo and dirty pages rise together, elsewhere not."""

    FULL = "full log, tables of half of it"
    OTHERWISE = "other tables or ages"
    AT_RANDOM = "random moment of a load"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One measured recovery."""

    run: str
    server: str
    family: str
    storage: str
    crash_name: str
    log_size: int
    pool: int
    workload: str
    crash: Crash
    disk: DiskRates
    batches: int | None
    pages: float | None
    """Recovered, summed over batches; None where neither log nor disk tells."""
    stretches: Mapping[frozenset[Part], float]
    """Seconds of the parts, or of those together that the log does not tell apart; they add up to `ready`."""
    ready: float
    struck: Struck = Struck.FULL
    is_judged: bool = True
    """Whether it says how far predictions are off: what something else may have slowed only teaches where little else does."""

    @property
    def subject(self) -> Subject:
        """Whose rates it tells."""
        return self.server, self.workload


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was learnt of a server: what its redo takes of the pool, and term → rate."""

    memory: Memory
    rates: Mapping[str, float]

    def work(self, crash: Crash, pool: float) -> Work:
        """What there is to do."""
        return work(crash, pool, self.memory)

    def parts(self, crash: Crash, pool: float, disk: DiskRates) -> dict[Part, float]:
        """Predicted seconds of each part."""
        return seconds_by_part(self.rates, self.work(crash, pool), disk)

    def ready(self, crash: Crash, pool: float, disk: DiskRates) -> float:
        """Predicted seconds to ready."""
        return sum(self.parts(crash, pool, disk).values())


def fit(observations: Sequence[Observation]) -> Fitted:
    """The rates of these recoveries of one server under one workload, from them alone.

    Raises `ValueError` if there are no recoveries.
    """
    if not observations:
        raise ValueError("nothing was measured")
    (fitted,) = fit_together(observations).values()
    return fitted


def fit_together(observations: Sequence[Observation]) -> Mapping[Subject, Fitted]:
    """The rates of all these servers and workloads; those that depend on the disk are one for each server, and alike in a family."""
    return Fits().of(observations)


class Fits:
    """Fits of one set of recoveries, with some of them left out again and again: what is not left out is worked out once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], tuple[Sequence[Observation], _Squares]] = {}

    def of(self, observations: Sequence[Observation]) -> Mapping[Subject, Fitted]:
        """See `fit_together`."""
        families: dict[str, dict[Subject, list[Observation]]] = {}
        for each in observations:
            families.setdefault(each.family, {}).setdefault(each.subject, []).append(each)
        found: dict[Subject, Fitted] = {}
        for subjects in families.values():
            found |= self._family(subjects)
        return found

    def _family(self, subjects: Mapping[Subject, Sequence[Observation]]) -> Mapping[Subject, Fitted]:
        # Of one storage the figures of several machines differ by little more than chance.
        has_disks = len({each.storage for own in subjects.values() for each in own}) > 1
        squares = {subject: self._squares(own) for subject, own in subjects.items()}
        servers = list(dict.fromkeys(server for server, _ in subjects))
        of_disks = sorted(_OF_DISKS) if has_disks else []
        # Of each subject the terms that its recoveries tell by themselves, of each server those of disks, and these of the family.
        columns: list[tuple[_Whose, int]] = [
            *(
                (subject, place)
                for subject, each in squares.items()
                for place in _OWN
                if TERMS[place].told_by is Separable.ALWAYS or each.tells_batches
            ),
            *((server, place) for server in servers for place in of_disks),
            *((None, place) for place in of_disks),
        ]
        at = {column: position for position, column in enumerate(columns)}
        gram, right = np.zeros((len(columns), len(columns))), np.zeros(len(columns))
        for subject, each in squares.items():
            whose = [subject[0] if place in _OF_DISKS else subject for place in range(len(TERMS))]
            places = np.array([place for place in range(len(TERMS)) if (whose[place], place) in at])
            positions = np.array([at[whose[place], place] for place in places])
            gram[np.ix_(positions, positions)] += each.gram[np.ix_(places, places)]
            right[positions] += each.right[places]
        for place in of_disks:
            held = _HELD_TOGETHER * sum(each.gram[place, place] for each in squares.values()) / len(servers)
            for server in servers:
                own, all_of_it = at[server, place], at[None, place]
                for one, other, sign in (
                    (own, own, 1),
                    (all_of_it, all_of_it, 1),
                    (own, all_of_it, -1),
                    (all_of_it, own, -1),
                ):
                    gram[one, other] += sign * held
        found = dict(zip(columns, _non_negative(gram, right).tolist(), strict=True))
        return {
            subject: Fitted(
                squares[subject].memory,
                {
                    term.name: rate
                    for place, term in enumerate(TERMS)
                    if (rate := found.get((subject[0] if place in _OF_DISKS else subject, place), 0.0)) > 0
                },
            )
            for subject in subjects
        }

    def _squares(self, observations: Sequence[Observation]) -> _Squares:
        key = tuple(map(id, observations))
        if key not in self._known:
            # Kept with what they are of, so that no other can have the same id.
            self._known[key] = (list(observations), _squares_of(observations))
        return self._known[key][1]


_OF_DISKS = frozenset(place for place, term in enumerate(TERMS) if term.told_by is Separable.DISKS)
_OWN = tuple(place for place in range(len(TERMS)) if place not in _OF_DISKS)


@dataclass(frozen=True, slots=True)
class _Squares:
    """The normal equations of one subject over all terms."""

    memory: Memory
    tells_batches: bool
    """Whether some recoveries took one batch, and some more."""
    gram: NDArray[np.float64]
    right: NDArray[np.float64]


def _squares_of(observations: Sequence[Observation]) -> _Squares:
    memory = _memory(observations)
    # What counts is the error of the whole, as a share of it; recoveries of one crash tell less than as many of several.
    of_crash = Counter((each.crash_name, each.storage) for each in observations)
    amounts, seconds = [], []
    batches = set()
    for each in observations:
        there = work(each.crash, each.pool, memory)
        batches.add(there.batches == 1)
        weight = 1 / each.ready / math.sqrt(of_crash[each.crash_name, each.storage])
        for parts, took in each.stretches.items():
            amounts.append([term.amount(there, each.disk) * (term.part in parts) * weight for term in TERMS])
            seconds.append(took * weight)
    design, wanted = np.array(amounts), np.array(seconds)
    return _Squares(memory, len(batches) > 1, design.T @ design, design.T @ wanted)


def _non_negative(gram: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """The solution of the normal equations without anything below 0: least squares of their Cholesky factor is that of the whole."""
    # Columns of very different scale lose digits.
    scale = np.sqrt(np.maximum(np.diag(gram), _NOTHING))
    scaled = gram / np.outer(scale, scale)
    scaled[np.diag_indices_from(scaled)] += _LITTLE
    factor, _ = cho_factor(scaled, lower=True)
    lower = np.tril(factor)
    solved, _ = nnls(lower.T, solve_triangular(lower, right / scale, lower=True))
    found: NDArray[np.float64] = solved / scale
    return found


def _memory(observations: Sequence[Observation]) -> Memory:
    """What makes the predicted batches nearest to those that were counted, and then pages follow from batches."""
    per_byte = _need([each for each in observations if each.batches is not None])
    plain = Memory(per_byte=per_byte)
    known = [each for each in observations if each.pages and each.crash.dirty_pages]
    if not known:
        return plain
    batches = np.log([work(each.crash, each.pool, plain).batches for each in known])
    pages = np.log([(each.pages or 0.0) / each.crash.dirty_pages for each in known])
    spread = batches - batches.mean()
    slope = float((spread * pages).sum() / (spread**2).sum()) if spread.any() else 0.0
    repetition = min(1.0, max(0.0, slope))
    once = math.exp(float((pages - repetition * batches).mean()))
    return Memory(per_byte=per_byte, pages_per_dirty_page=once, repetition=repetition)


def _need(observations: Sequence[Observation]) -> float:
    """Bytes of the pool for a byte of redo; of values that do equally well the middle one."""
    if not observations:
        return _UNKNOWN_NEED
    redo = np.array([each.crash.redo for each in observations])
    pools = np.array([each.pool for each in observations])
    counted = np.array([each.batches for each in observations])
    predicted = np.maximum(1, np.ceil(np.outer(_FOR_A_BYTE, redo) / pools))
    off = np.abs(np.log(predicted / counted)).sum(axis=1)
    return float(np.median(_FOR_A_BYTE[off <= off.min() + _NOTHING]))
