"""Predictions of measured recoveries that the fit has not seen: by crash, run, log size, pool, storage and server."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from redolab.models.recovery_time.fit import Fits, Fitted, Observation
from redolab.models.recovery_time.pooling import Subject
from redolab.models.recovery_time.terms import DiskRates

FITTED_UP_TO = 2**30
"""Bytes of the largest log that the fit sees where larger ones are held out."""

_TINY = 1e-9
_DISKS = 2
"""From one disk alone nothing can be learnt of what a disk does."""
RECOVERIES_OF_A_DISK = 4
"""Fewer tell little of it: a storage with fewer is not one that was measured."""
ENOUGH_CRASHES = 3
"""Of a server under a workload, or with logs of a size or larger. With two of MariaDB 10.11 with 8G predictions of these
very crashes were 15 to 28 % too short; by two of MySQL 5.7 on one disk one on another would take 61 times as long."""


class HeldOut(StrEnum):
    """What the fit has not seen."""

    CRASH = "another crash"
    RUN = "another run"
    """Hours or days apart, with whatever conditions it had."""
    LOG_SIZE = "a larger log"
    POOL = "another pool"
    STORAGE = "another storage"
    """On which others of its family were measured."""
    UNSEEN_STORAGE = "a storage nobody measured"
    SERVER = "another server"
    MACHINE = "another machine"
    """On its own disk, where processors decide more than anything else."""
    LIMITED = "another machine, a limited disk"
    """On the model of a disk, which is the same on each."""
    CALIBRATED = "another machine, calibrated"
    """By the rates of other machines, as a few crashes there scaled them."""
    CALIBRATED_LARGER = "a larger log, calibrated"
    """So scaled, with a log larger than those of the calibration."""


OF_MACHINES = (HeldOut.MACHINE, HeldOut.LIMITED)
OF_CALIBRATED = (HeldOut.CALIBRATED, HeldOut.CALIBRATED_LARGER)


@dataclass(frozen=True, slots=True)
class HeldOutPrediction:
    """A measured recovery, and what was predicted of it without it."""

    held_out: HeldOut
    observation: Observation
    predicted: float
    """Seconds, from the crash's redo and dirty pages."""
    by_redo: float
    """Seconds, from its redo alone, as someone asks who plans a log."""
    machine: str = ""
    """On which it was measured, where it was predicted by what others taught."""

    @property
    def error(self) -> float:
        """ln(measured / predicted)."""
        return math.log(self.observation.ready / self.predicted)

    @property
    def error_by_redo(self) -> float:
        """ln(measured / predicted) of the prediction from the redo alone."""
        return math.log(self.observation.ready / self.by_redo)

    @property
    def relative(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted / self.observation.ready - 1


def counts_once(each: HeldOutPrediction) -> str:
    """What tells little more than once, however many recoveries there are of it: a server, a machine, or a crash."""
    if each.held_out in OF_MACHINES:
        return each.machine
    if each.held_out in OF_CALIBRATED:
        return f"{each.observation.server} on {each.machine}"
    if each.held_out is HeldOut.UNSEEN_STORAGE:
        return f"{each.observation.family} on {each.observation.storage}"
    return each.observation.server if each.held_out is HeldOut.SERVER else each.observation.crash_name


def weights(units: Sequence[str]) -> list[float]:
    """What each prediction counts, so that each unit, of which these are the names, counts once."""
    counts = Counter(units)
    return [1 / counts[each] for each in units]


def weighted_median(values: Sequence[float], units: Sequence[str]) -> float:
    """The median of values, each unit counting once; between two that are as much in the middle, their mean."""
    order = np.argsort(values)
    there, reached = np.asarray(values)[order], np.cumsum(np.asarray(weights(units))[order])
    half = reached[-1] / 2
    # The last digit of a sum of thirds is to decide nothing.
    first, second = (np.searchsorted(reached, half * (1 + sign * _TINY)) for sign in (-1, 1))
    return float((there[first] + there[second]) / 2)


def judged(observations: Sequence[Observation], relatives: Mapping[str, Sequence[str]]) -> list[HeldOutPrediction]:
    """Every held-out prediction that these recoveries allow; `relatives`: server → others of its family, the nearest first."""
    found: list[HeldOutPrediction] = []
    families = {
        family: [each for each in observations if each.family == family]
        for family in dict.fromkeys(each.family for each in observations)
    }
    for of_family in families.values():
        found += _of_family(of_family, relatives)
    return found


def _of_family(observations: Sequence[Observation], relatives: Mapping[str, Sequence[str]]) -> list[HeldOutPrediction]:
    fits = _Folds(observations)
    subjects = {
        subject: [each for each in observations if each.subject == subject]
        for subject in dict.fromkeys(each.subject for each in observations)
    }
    found: list[HeldOutPrediction] = []
    for run in _different(observations, lambda each: each.run):
        found += fits.without(HeldOut.RUN, [each for each in observations if each.run == run])
    for storage in _different(observations, lambda each: each.storage):
        found += fits.without(HeldOut.UNSEEN_STORAGE, [each for each in observations if each.storage == storage])
    for (server, workload), own in subjects.items():
        large = [each for each in own if each.log_size > FITTED_UP_TO]
        found += fits.without(HeldOut.LOG_SIZE, large)
        for kind, key in (
            (HeldOut.CRASH, lambda each: each.crash_name),
            (HeldOut.POOL, _pool_class),
            (HeldOut.STORAGE, lambda each: each.storage),
        ):
            for value in _different(own, key):
                found += fits.without(kind, [each for each in own if key(each) == value])
        nearest = next(
            ((other, workload) for other in relatives.get(server, ()) if (other, workload) in subjects), None
        )
        if nearest is not None:
            seen_on = {each.storage for each in subjects[nearest]}
            on_these = [each for each in own if each.storage in seen_on and each.is_judged]
            relative = fits.without_server(server, nearest)
            found += [held_out_prediction(HeldOut.SERVER, each, relative) for each in on_these]
    return found


class _Folds:
    """Fits of a family's recoveries without some of them."""

    def __init__(self, observations: Sequence[Observation]) -> None:
        self._observations = observations
        self._fits = Fits()

    def without(self, kind: HeldOut, unseen: Sequence[Observation]) -> list[HeldOutPrediction]:
        """Predictions of these by the rest, as far as the rest can tell."""
        left_out = {id(each) for each in unseen}
        seen = [each for each in self._observations if id(each) not in left_out]
        by_disk = {HeldOut.STORAGE, HeldOut.UNSEEN_STORAGE, HeldOut.RUN}
        known = {each.subject for each in seen}
        predicted = [each for each in unseen if each.subject in known and each.is_judged]
        if not predicted or (kind in by_disk and not _tells_of_disks(seen) and _is_new_disk(predicted, seen)):
            return []
        if kind is HeldOut.STORAGE:
            # What nobody else of the family has seen is of the other kind.
            storages = {each.storage for each in seen}
            predicted = [each for each in predicted if each.storage in storages]
        if kind in (HeldOut.STORAGE, HeldOut.UNSEEN_STORAGE):
            # No calibration that is asked about another disk has fewer.
            told = Counter(subject for subject, _ in {(each.subject, each.crash_name) for each in seen})
            predicted = [each for each in predicted if told[each.subject] >= ENOUGH_CRASHES]
        fitted = self._fits.of(seen)
        return [held_out_prediction(kind, each, fitted[each.subject]) for each in predicted]

    def without_server(self, server: str, subject: Subject) -> Fitted:
        """What is learnt of a subject where nothing is known of that server."""
        return self._fits.of([each for each in self._observations if each.server != server])[subject]


def held_out_prediction(
    kind: HeldOut, each: Observation, fitted: Fitted, disk: DiskRates | None = None, machine: str = ""
) -> HeldOutPrediction:
    """Predict a recovery that `fitted` has not seen; `disk`: the figures to predict it by, its own by default."""
    disk = disk or each.disk
    return HeldOutPrediction(
        kind,
        each,
        fitted.ready(each.crash, each.pool, disk),
        fitted.ready_by_redo(each.crash.redo, each.pool, disk),
        machine,
    )


def _tells_of_disks(observations: Sequence[Observation]) -> bool:
    """Whether another disk can be predicted from these: several disks, each with several recoveries."""
    counts = Counter(each.storage for each in observations)
    return sum(count >= RECOVERIES_OF_A_DISK for count in counts.values()) >= _DISKS


def _is_new_disk(unseen: Sequence[Observation], seen: Sequence[Observation]) -> bool:
    storages = {each.storage for each in seen}
    return any(each.storage not in storages for each in unseen)


def _pool_class(observation: Observation) -> str:
    """Pools as shares of the log: what a pool of some bytes means depends on it."""
    return f"{observation.pool / observation.log_size:.2f}"


def _different(observations: Sequence[Observation], key: Callable[[Observation], str]) -> list[str]:
    return list(dict.fromkeys(key(each) for each in observations))
