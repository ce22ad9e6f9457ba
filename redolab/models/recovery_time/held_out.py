"""Predictions of measured recoveries that the fit has not seen: by crash, log size, pool, storage and server."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from redolab.models.recovery_time.fit import Fitted, Observation, fit

FITTED_UP_TO = 2**30
"""Bytes of the largest log that the fit sees where larger ones are held out."""
SCALED_BY = 2**28
"""Bytes of the log of the one crash that a server nobody has measured is scaled by."""

_DISKS = 2
"""From one disk alone nothing can be learnt of what a disk does."""


class HeldOut(StrEnum):
    """What the fit has not seen."""

    CRASH = "another crash"
    LOG_SIZE = "a larger log"
    POOL = "another pool"
    STORAGE = "another storage"
    SERVER = "another server"


@dataclass(frozen=True, slots=True)
class Judged:
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


def judged(observations: Sequence[Observation], family: Callable[[str], str]) -> list[Judged]:
    """Every held-out prediction that these recoveries allow; `family`: server → its family."""
    found: list[Judged] = []
    for server, workload in dict.fromkeys(each.subject for each in observations):
        of_server = [each for each in observations if each.subject == (server, workload)]
        small = [each for each in of_server if each.log_size <= FITTED_UP_TO]
        large = [each for each in of_server if each.log_size > FITTED_UP_TO]
        found += _judged(HeldOut.LOG_SIZE, small, large)
        for kind, key in (
            (HeldOut.CRASH, lambda each: each.crash_name),
            (HeldOut.POOL, _pool_class),
            (HeldOut.STORAGE, lambda each: each.storage),
        ):
            for value in _different(of_server, key):
                rest = [each for each in of_server if key(each) != value]
                if kind is HeldOut.STORAGE and len({each.disk for each in rest}) < _DISKS:
                    continue
                found += _judged(kind, rest, [each for each in of_server if key(each) == value])
        relatives = [
            each
            for each in observations
            if family(each.server) == family(server) and each.server != server and each.workload == workload
        ]
        found += list(_of_unknown_server(relatives, of_server))
    return found


def scaled(relatives: Sequence[Observation], own: Sequence[Observation]) -> Fitted:
    """A fit of other servers of the family, all its rates scaled by how much longer the server's own few recoveries took."""
    of_family = fit(relatives)
    errors = [math.log(each.ready / of_family.ready(each.crash, each.pool, each.disk)) for each in own]
    factor = math.exp(math.fsum(errors) / len(errors))
    return Fitted(of_family.memory, {name: rate * factor for name, rate in of_family.rates.items()})


def _of_unknown_server(relatives: Sequence[Observation], of_server: Sequence[Observation]) -> Iterator[Judged]:
    """Predictions by the family's rates, scaled by one crash with the smallest log on the storage that was measured first."""
    own = [each for each in of_server if each.log_size <= SCALED_BY]
    if not relatives or not own:
        return
    own = [each for each in own if (each.crash_name, each.storage) == (own[0].crash_name, own[0].storage)]
    fitted = scaled(relatives, own)
    for each in of_server:
        if each not in own:
            yield Judged(HeldOut.SERVER, each, fitted.ready(each.crash, each.pool, each.disk))


def _judged(kind: HeldOut, seen: Sequence[Observation], unseen: Sequence[Observation]) -> list[Judged]:
    if not seen or not unseen:
        return []
    fitted = fit(seen)
    return [Judged(kind, each, fitted.ready(each.crash, each.pool, each.disk)) for each in unseen]


def _pool_class(observation: Observation) -> str:
    """Pools as shares of the log: what a pool of some bytes means depends on it."""
    return f"{observation.pool / observation.log_size:.2f}"


def _different(observations: Sequence[Observation], key: Callable[[Observation], str]) -> list[str]:
    return list(dict.fromkeys(key(each) for each in observations))
