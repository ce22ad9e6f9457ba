"""Rates of servers from measured recoveries: the logarithms of a family's rates, partly pooled (`pooling`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec
import numpy as np

from redolab.grouping import by_key
from redolab.predict.recovery_time.pooling import PooledRates, Pooling, Subject, SubjectData, pooled
from redolab.predict.recovery_time.terms import TERMS, DiskRates, Part, seconds_by_part
from redolab.predict.recovery_time.work import CrashSize, DirtyPages, Memory, Work, dirty_pages_of, work

POOLING = Pooling()
_FOR_A_BYTE = np.arange(0.3, 6.0, 0.02)
"""Candidate bytes of the pool for a byte of redo."""
_EQUALLY_GOOD = 1e-12
_UNKNOWN_NEED = 2.0
"""Bytes of the pool for a byte of redo if no log shows the batches: between those of MariaDB and MySQL."""


class CrashCondition(StrEnum):
    """State of the load at a crash: in full logs redo and dirty pages grow together, otherwise not."""

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
    crash: CrashSize
    disk: DiskRates
    batches: int | None
    pages: float | None
    """Pages recovered, summed over batches; None if neither log nor disk shows it."""
    stretches: Mapping[frozenset[Part], float]
    """Seconds of the parts, or of groups of parts that the log does not separate; they add up to `ready`."""
    ready: float
    tables: int
    """Bytes of the tables that the load ran on."""
    condition: CrashCondition = CrashCondition.FULL
    is_judged: bool = True
    """True if the errors of predictions are estimated from it.

    A recovery that something else may have slowed is only trained on, and only if hardly any others exist.
    """

    @property
    def subject(self) -> Subject:
        """Server and workload whose rates it is trained for."""
        return self.server, self.workload


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """Rates and properties fitted to the recoveries of a server under a workload."""

    memory: Memory
    """Memory of the buffer pool that its redo takes."""
    rates: Mapping[str, float]
    """Term → rate (`redolab.predict.recovery_time.terms`)."""
    dirty_pages: DirtyPages
    """Dirty pages at a crash, by its redo."""

    def work(self, crash: CrashSize, pool: float) -> Work:
        """Return the work of recovering a crash with a buffer pool of `pool` bytes."""
        return work(crash, pool, self.memory)

    def parts(self, crash: CrashSize, pool: float, disk: DiskRates) -> dict[Part, float]:
        """Return the predicted seconds of each part."""
        return seconds_by_part(self.rates, self.work(crash, pool), disk)

    def ready(self, crash: CrashSize, pool: float, disk: DiskRates) -> float:
        """Return the predicted seconds to ready."""
        return sum(self.parts(crash, pool, disk).values())

    def ready_by_redo(self, redo: float, pool: float, disk: DiskRates) -> float:
        """Return the predicted seconds to ready if the dirty pages are not known."""
        return self.ready(CrashSize(redo=redo, dirty_pages=self.dirty_pages.at(redo)), pool, disk)


def fit_together(observations: Sequence[Observation]) -> Mapping[Subject, Fitted]:
    """Return the rates of all these servers and workloads; each family is fitted alone."""
    return Fits().of(observations)


class Fits:
    """Repeated fits of one set of recoveries without some of them; unchanged parts are computed once."""

    def __init__(self, pooling: Pooling = POOLING) -> None:
        self._pooling = pooling
        self._known: dict[tuple[int, ...], tuple[Sequence[Observation], _Learned]] = {}
        self._last: dict[str, PooledRates] = {}

    def of(self, observations: Sequence[Observation]) -> Mapping[Subject, Fitted]:
        """Return the rates fitted to these recoveries alone."""
        found: dict[Subject, Fitted] = {}
        for family, of_family in by_key(observations, lambda each: each.family).items():
            subjects = by_key(of_family, lambda each: each.subject)
            learned = {subject: self._learned(of_subject) for subject, of_subject in subjects.items()}
            rates = pooled(
                {subject: each.data for subject, each in learned.items()},
                [term.is_disk for term in TERMS],
                self._pooling,
                self._last.get(family),
            )
            self._last[family] = rates
            for subject, own in learned.items():
                by_term = zip((term.name for term in TERMS), rates.of(subject).tolist(), strict=True)
                found[subject] = Fitted(memory=own.memory, rates=dict(by_term), dirty_pages=own.dirty_pages)
        return found

    def _learned(self, observations: Sequence[Observation]) -> _Learned:
        key = tuple(map(id, observations))
        if key not in self._known:
            # The observations are kept with their fit, so that no others can get the same id.
            self._known[key] = (observations, _learned(observations))
        return self._known[key][1]


@dataclass(frozen=True, slots=True)
class _Learned:
    """Quantities fitted to one subject alone, and its data for the fit of the family."""

    memory: Memory
    dirty_pages: DirtyPages
    data: SubjectData


def _learned(observations: Sequence[Observation]) -> _Learned:
    memory = _memory(observations)
    crashes = {each.crash_name: each.crash for each in observations}
    is_one_load = {each.condition for each in observations} == {CrashCondition.AT_RANDOM} and len(
        {each.tables for each in observations}
    ) == 1
    dirty_pages = dirty_pages_of(list(crashes.values()), of_one_load=is_one_load)
    return _Learned(memory, dirty_pages, _data_of(observations, memory))


def _data_of(observations: Sequence[Observation], memory: Memory) -> SubjectData:
    works = [work(each.crash, each.pool, memory) for each in observations]
    of_crash = Counter((each.crash_name, each.storage) for each in observations)
    members = np.zeros((len(observations), len(Part), len(TERMS)))
    stretches = np.zeros((len(observations), len(Part)))
    for row, each in enumerate(observations):
        if len(each.stretches) > 1:
            for place, (parts, seconds) in enumerate(each.stretches.items()):
                members[row, place] = [term.part in parts for term in TERMS]
                stretches[row, place] = seconds
    return SubjectData(
        amounts=np.array(
            [[term.amount(done, each.disk) for term in TERMS] for each, done in zip(observations, works, strict=True)]
        ),
        ready=np.array([each.ready for each in observations]),
        weight=np.array([1 / of_crash[each.crash_name, each.storage] for each in observations]),
        members=members,
        stretches=stretches,
    )


def _memory(observations: Sequence[Observation]) -> Memory:
    """Return the memory that predicts the counted batches best, then the pages that follow from these batches."""
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
    """Return the bytes of the pool for a byte of redo: the middle one of the values that fit equally well."""
    if not observations:
        return _UNKNOWN_NEED
    redo = np.array([each.crash.redo for each in observations])
    pools = np.array([each.pool for each in observations])
    counted = np.array([each.batches for each in observations])
    predicted = np.maximum(1, np.ceil(np.outer(_FOR_A_BYTE, redo) / pools))
    off = np.abs(np.log(predicted / counted)).sum(axis=1)
    return float(np.median(_FOR_A_BYTE[off <= off.min() + _EQUALLY_GOOD]))
