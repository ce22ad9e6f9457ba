"""Predictions of measured recoveries that the fit has not seen: by crash, log size, pool, storage and server."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from redolab.models.recovery_time.fit import Fitted, Observation, fit
from redolab.models.recovery_time.terms import TERMS, Part

FITTED_UP_TO = 2**30
"""Bytes of the largest log that the fit sees where larger ones are held out."""
SCALED_BY = 2**28
"""Bytes of the log of the one crash that a server nobody has measured is scaled by."""

_DISKS = 2
"""From one disk alone nothing can be learnt of what a disk does."""
_RECOVERIES = 4
"""On a disk: fewer tell little of it."""


class HeldOut(StrEnum):
    """What the fit has not seen."""

    CRASH = "another crash"
    LOG_SIZE = "a larger log"
    POOL = "another pool"
    STORAGE = "another storage"
    SERVER = "another server"
    SCALED = "another server, scaled"


@dataclass(frozen=True, slots=True)
class HeldOutPrediction:
    """A measured recovery, and what was predicted of it without it."""

    held_out: HeldOut
    observation: Observation
    predicted: float

    @property
    def error(self) -> float:
        """ln(measured / predicted)."""
        return math.log(self.observation.ready / self.predicted)

    @property
    def relative(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted / self.observation.ready - 1


def judged(observations: Sequence[Observation], relatives: Mapping[str, Sequence[str]]) -> list[HeldOutPrediction]:
    """Every held-out prediction that these recoveries allow; `relatives`: server → others of its family, the nearest first."""
    found: list[HeldOutPrediction] = []
    subjects = {
        subject: [each for each in observations if each.subject == subject]
        for subject in dict.fromkeys(each.subject for each in observations)
    }
    for (server, workload), own in subjects.items():
        small = [each for each in own if each.log_size <= FITTED_UP_TO]
        large = [each for each in own if each.log_size > FITTED_UP_TO]
        found += _judged(HeldOut.LOG_SIZE, small, large)
        for kind, key in (
            (HeldOut.CRASH, lambda each: each.crash_name),
            (HeldOut.POOL, _pool_class),
            (HeldOut.STORAGE, lambda each: each.storage),
        ):
            for value in _different(own, key):
                rest = [each for each in own if key(each) != value]
                if kind is HeldOut.STORAGE and not _tells_of_disks(rest):
                    continue
                found += _judged(kind, rest, [each for each in own if key(each) == value])
        nearest = next(
            (subjects[other, workload] for other in relatives.get(server, ()) if (other, workload) in subjects), []
        )
        found += _of_unmeasured_server(nearest, own)
    return found


def scaled(relative: Fitted, own: Sequence[Observation]) -> Fitted:
    """The rates of a relative, those of each part scaled by how much longer that part took in the server's own few recoveries."""
    parts = [(each, relative.parts(each.crash, each.pool, each.disk)) for each in own]

    def factor(part: Part) -> float:
        told = [
            (seconds / each.ready, sum(predicted[other] for other in together) / each.ready)
            for each, predicted in parts
            for together, seconds in each.stretches.items()
            if part in together
        ]
        measured, expected = (math.fsum(shares) for shares in zip(*told, strict=True))
        return measured / expected if expected > 0 else 1.0

    factors = {part: factor(part) for part in Part}
    return Fitted(
        relative.memory,
        {term.name: relative.rates[term.name] * factors[term.part] for term in TERMS if term.name in relative.rates},
    )


def _of_unmeasured_server(
    relative: Sequence[Observation], of_server: Sequence[Observation]
) -> Iterator[HeldOutPrediction]:
    """Predictions by a relative's rates as they are, and scaled by one small crash of its own on the storage measured first."""
    if not relative:
        return
    fitted = fit(relative)
    storages = {each.storage for each in relative}
    of_server = [each for each in of_server if each.storage in storages]
    yield from _each(HeldOut.SERVER, fitted, of_server)
    own = [each for each in of_server if each.log_size <= SCALED_BY]
    own = [each for each in own if (each.crash_name, each.storage) == (own[0].crash_name, own[0].storage)]
    if own:
        yield from _each(HeldOut.SCALED, scaled(fitted, own), [each for each in of_server if each not in own])


def _tells_of_disks(observations: Sequence[Observation]) -> bool:
    """Whether another disk can be predicted from these: several disks, each with several recoveries."""
    counts = Counter(each.disk for each in observations)
    return sum(count >= _RECOVERIES for count in counts.values()) >= _DISKS


def _judged(kind: HeldOut, seen: Sequence[Observation], unseen: Sequence[Observation]) -> list[HeldOutPrediction]:
    if not seen or not unseen:
        return []
    return list(_each(kind, fit(seen), unseen))


def _each(kind: HeldOut, fitted: Fitted, unseen: Sequence[Observation]) -> Iterator[HeldOutPrediction]:
    for each in unseen:
        yield HeldOutPrediction(kind, each, fitted.ready(each.crash, each.pool, each.disk))


def _pool_class(observation: Observation) -> str:
    """Pools as shares of the log: what a pool of some bytes means depends on it."""
    return f"{observation.pool / observation.log_size:.2f}"


def _different(observations: Sequence[Observation], key: Callable[[Observation], str]) -> list[str]:
    return list(dict.fromkeys(key(each) for each in observations))
