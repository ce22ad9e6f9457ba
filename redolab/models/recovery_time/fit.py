"""Rates of a server from measured recoveries: non-negative least squares, each part of the time by itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from redolab.models.recovery_time.terms import TERMS, DiskRates, Part, Separable, seconds_by_part
from redolab.models.recovery_time.work import Crash, Memory, Work, work

_FOR_A_BYTE = np.arange(0.3, 6.0, 0.02)
"""Bytes of the pool that are tried."""
_NOTHING = 1e-12
_UNKNOWN_NEED = 2.0
"""Bytes of the pool for a byte of redo where no log told the batches: between those of MariaDB and MySQL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One measured recovery."""

    server: str
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

    @property
    def subject(self) -> tuple[str, str]:
        """Whose rates it tells: those of a server under a workload. Redo of another kind takes a server another time."""
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


def fit(observations: Sequence[Observation], known: Mapping[str, float] | None = None) -> Fitted:
    """The rates of these recoveries of one server under one workload; those that are `known` are taken as they are.

    Raises `ValueError` if there are no recoveries.
    """
    if not observations:
        raise ValueError("nothing was measured")
    given = known or {}
    memory = _memory(observations)
    told = _told(observations, memory)
    terms = [term for term in TERMS if term.told_by in told and term.name not in given]
    rows = [
        (work(each.crash, each.pool, memory), each, parts, seconds)
        for each in observations
        for parts, seconds in each.stretches.items()
    ]
    amounts = np.array(
        [[term.amount(there, each.disk) * (term.part in parts) for term in terms] for there, each, parts, _ in rows]
    )
    explained = [
        sum(given.get(term.name, 0.0) * term.amount(there, each.disk) for term in TERMS if term.part in parts)
        for there, each, parts, _ in rows
    ]
    seconds = np.maximum(0.0, np.array([seconds for *_, seconds in rows]) - np.array(explained))
    # What counts is the error of the whole, as a share of it; recoveries of one crash tell less than as many of several.
    of_crash = Counter((each.crash_name, each.storage) for each in observations)
    weights = np.array([1 / each.ready / math.sqrt(of_crash[each.crash_name, each.storage]) for _, each, _, _ in rows])
    weighted = amounts * weights[:, None]
    # Columns of very different scale lose digits in the solver.
    scale = np.maximum(np.abs(weighted).max(axis=0), _NOTHING)
    solved, _ = nnls(weighted / scale, seconds * weights)
    rates = {term.name: float(rate) for term, rate in zip(terms, solved / scale, strict=True) if rate > 0}
    return Fitted(memory, {**rates, **given})


def disk_rates(fits: Sequence[Fitted]) -> dict[str, float]:
    """The rates that depend on the disk alone, their means over several servers: for one that was measured on one disk only."""
    names = [term.name for term in TERMS if term.told_by is Separable.DISKS]
    return {name: math.fsum(each.rates.get(name, 0.0) for each in fits) / len(fits) for name in names} if fits else {}


def _told(observations: Sequence[Observation], memory: Memory) -> set[Separable]:
    """What differs between these recoveries: two rates whose amounts always go together cannot be told apart."""
    told = {Separable.ALWAYS}
    if len({each.disk for each in observations}) > 1:
        told.add(Separable.DISKS)
    if len({work(each.crash, each.pool, memory).batches == 1 for each in observations}) > 1:
        told.add(Separable.BATCHES)
    return told


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
