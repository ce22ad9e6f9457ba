"""Crash states in which a power cut could have left a disk.

On a disk with a volatile cache, a flush covers the writes that were answered before it came, and holds from its own
answer on. Of all other writes, those in flight included, each sector may be on the disk or not; of one sector, the
last write that survives counts. No sector is torn. Trims and zeroes are writes. (ATA Command Set, FLUSH CACHE; SCSI
Block Commands, SYNCHRONIZE CACHE.)
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from redolab.grouping import by_key
from redolab.powercut.recording import DiskEvent, Recording

SECTOR = 512
"""Bytes that are never torn."""
BASE, _ZEROES = -1, -2
"""Sources of a sector: its content before the recording, or zeroes."""


class Survivors(StrEnum):
    """Rule for which writes that no flush protects survive on the disk."""

    NONE = "none"
    ALL = "all"
    PREFIX = "prefix"
    """The first N, in the order of arrival; N is drawn at random."""
    ONE_MISSING = "one missing"
    ONE_ALONE = "one alone"
    RANDOM = "random"
    """Each write at random, with probability one half."""
    TORN = "torn"
    """Each sector of each write at random, with probability one half."""


class PowerCut(msgspec.Struct, frozen=True, kw_only=True):
    """One cut; together with its recording it determines one crash state of the disk."""

    place: int
    """Number of events of the recording before the cut."""
    survivors: Survivors
    seed: int = 0
    """Seed of all random draws: which write is missing or alone, how long the prefix is, which writes survive."""


class Lost(msgspec.Struct, frozen=True, order=True):
    """Sectors of one change that a cut took."""

    number: int
    """Index of the change in its recording."""
    first: int
    """First lost sector, counted from the beginning of the change."""
    count: int


@dataclass(frozen=True, slots=True)
class DiskState:
    """Content of a disk: the source of each sector that the recording ever changed."""

    sources: NDArray[np.int64]
    """Index of each sector's bytes among all sectors written; -1: as before the recording, -2: zeroes."""

    @property
    def hash(self) -> str:
        """Return a hash of the content."""
        return xxhash.xxh3_64_hexdigest(self.sources.tobytes())


class History:
    """Crash states that a recording allows, at each of its places."""

    def __init__(self, recording: Recording, *, volatile: bool = True, obeys: bool = True) -> None:
        """Read the recording.

        `volatile`: a cut empties the disk's cache; False: what the disk has answered survives. `obeys`: the disk carries
        out flushes; False: it answers them and may lose the data.
        """
        self.recording = recording
        self._changes = recording.changes
        self._volatile = volatile
        self._obeys = obeys
        spans = [self._span(number) for number in self._changes]
        self.sectors: NDArray[np.int64] = np.unique(np.concatenate(spans)) if spans else np.zeros(0, dtype=np.int64)
        """The sectors that it ever changes, in order."""
        self._first = {
            int(number): int(np.searchsorted(self.sectors, span[0]))
            for number, span in zip(self._changes, spans, strict=True)
        }
        self._durable = self._durable_from()

    def _span(self, number: int) -> NDArray[np.int64]:
        first = int(self.recording.offset[number]) // SECTOR
        return np.arange(first, first + int(self.recording.length[number]) // SECTOR, dtype=np.int64)

    def _durable_from(self) -> NDArray[np.int64]:
        """Return for each change the place from which on no cut can lose it."""
        recording = self.recording
        answered = recording.answered[self._changes]
        if not self._volatile:
            return answered
        flushes = recording.flushes[~recording.failed[recording.flushes]]
        asked, carried_out = recording.asked[flushes], recording.answered[flushes]
        # Among the flushes that came after the answer, the first one answered.
        earliest = np.minimum.accumulate(carried_out[::-1])[::-1]
        after = np.searchsorted(asked, answered - 1, side="right")
        never = np.iinfo(np.int64).max
        if not self._obeys:
            return np.full(len(self._changes), never)
        return np.append(earliest, never)[after]

    def at_risk(self, place: int) -> NDArray[np.int64]:
        """Return the indices of the changes that a cut at `place` may lose: arrived and not durable, in order."""
        asked = self.recording.asked[self._changes] < place
        return np.asarray(self._changes[asked & (self._durable > place)])

    def at_risk_until(self, number: int) -> int:
        """Return the place from which on no cut can lose that change; the largest int64 if every cut can."""
        return int(self._durable[np.searchsorted(self._changes, number)])

    def state(self, cut: PowerCut) -> DiskState:
        """Return the crash state that this cut leaves."""
        return self.state_without(cut.place, self.losses(cut))

    def losses(self, cut: PowerCut) -> list[Lost]:
        """Return the losses of this cut, in the order of arrival."""
        at_risk = self.at_risk(cut.place).tolist()
        if cut.survivors is not Survivors.TORN:
            there = set(survivors_of(at_risk, cut))
            return [Lost(number, 0, self.length(number)) for number in at_risk if number not in there]
        draw = random.Random(f"{cut.seed} sectors")
        return [
            Lost(number, first, count)
            for number in at_risk
            for first, count in _gaps(np.array([draw.random() < 0.5 for _ in range(self.length(number))]))
        ]

    def length(self, number: int) -> int:
        """Return the length of a change in sectors."""
        return int(self.recording.length[number]) // SECTOR

    def state_without(self, place: int, losses: Iterable[Lost]) -> DiskState:
        """Return the crash state after a cut at `place` with exactly these losses; all other writes survive."""
        lost = by_key(losses, lambda each: each.number)
        sources = np.full(len(self.sectors), BASE, dtype=np.int64)
        came = self._changes[self.recording.asked[self._changes] < place]
        # In the order of arrival: of one sector the last one counts.
        for number in came.tolist():
            start, count = self._first[number], self.length(number)
            there = self._content(number, count)
            for each in lost.get(number, ()):
                within = slice(each.first, each.first + each.count)
                there[within] = sources[start : start + count][within]
            sources[start : start + count] = there
        return DiskState(sources)

    def _content(self, number: int, count: int) -> NDArray[np.int64]:
        if self.recording.event[number] != DiskEvent.WRITE:
            return np.full(count, _ZEROES, dtype=np.int64)
        first = int(self.recording.data[number]) // SECTOR
        return np.arange(first, first + count, dtype=np.int64)


def survivors_of(at_risk: Sequence[int], cut: PowerCut) -> list[int]:
    """Return the changes at risk that survive the cut, in the order of arrival: the same for the same seed."""
    draw = random.Random(f"{cut.seed} {cut.survivors}")
    numbers = list(at_risk)
    match cut.survivors:
        case Survivors.NONE:
            return []
        case Survivors.ALL | Survivors.TORN:
            return numbers
        case Survivors.PREFIX:
            return numbers[: draw.randrange(len(numbers) + 1)]
        case Survivors.ONE_MISSING:
            missing = draw.choice(numbers) if numbers else None
            return [each for each in numbers if each != missing]
        case Survivors.ONE_ALONE:
            return [draw.choice(numbers)] if numbers else []
        case Survivors.RANDOM:
            return [each for each in numbers if draw.random() < 0.5]


def _gaps(there: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the gaps in a row of sectors: for each the first missing sector and the number of missing ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], there, [True]]).astype(np.int8)))
    return [(int(first), int(end - first)) for first, end in zip(edges[::2], edges[1::2], strict=True)]
