"""Predictions of measured recoveries that were held out: by crash, run, log size, pool, storage and server."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from redolab.grouping import by_key
from redolab.predict.recovery_time.fit import Fits, Fitted, Observation
from redolab.predict.recovery_time.terms import DiskRates

FITTED_UP_TO = 2**30
"""Bytes of the largest log that is trained on when larger ones are held out."""

_TINY = 1e-9
_DISKS = 2
"""Fewest disks that show the effect of a disk."""
RECOVERIES_OF_A_DISK = 4
"""Fewest recoveries on a storage for it to count as measured."""
ENOUGH_CRASHES = 3
"""Fewest crashes of a server under a workload, or with logs of a size or larger.

With two crashes of MariaDB 10.11 with 8G, predictions of these very crashes were 15 to 28 % too short. Trained on two
of MySQL 5.7 on one disk, the prediction for another disk was 61 times too long.
"""


class HeldOut(StrEnum):
    """Kind of recovery that the fit was not trained on."""

    CRASH = "another crash"
    RUN = "another run"
    """Another run, hours or days apart, under the conditions of its time."""
    LOG_SIZE = "a larger log"
    POOL = "another pool"
    STORAGE = "another storage"
    """Another storage, on which other servers of the family were measured."""
    UNSEEN_STORAGE = "a storage nobody measured"
    SERVER = "another server"
    MACHINE = "another machine"
    """Another machine on its own disk, where CPUs decide more than anything else."""
    LIMITED = "another machine, a limited disk"
    """Another machine on the model of a disk, which is the same on each machine."""
    CALIBRATED = "another machine, calibrated"
    """Another machine, by the rates of the others, scaled by a few crashes on it."""
    CALIBRATED_LARGER = "a larger log, calibrated"
    """A machine scaled in this way, with a log larger than those of the calibration."""


OF_MACHINES = (HeldOut.MACHINE, HeldOut.LIMITED)
OF_CALIBRATED = (HeldOut.CALIBRATED, HeldOut.CALIBRATED_LARGER)


@dataclass(frozen=True, slots=True)
class HeldOutPrediction:
    """A measured recovery, and its prediction by a fit that was not trained on it."""

    held_out: HeldOut
    observation: Observation
    predicted: float
    """Predicted seconds, from the crash's redo and dirty pages."""
    by_redo: float
    """Predicted seconds from the redo alone, the question of a person who plans a log."""
    machine: str = ""
    """Machine of the recovery, if it was predicted from other machines; else empty."""

    @property
    def error(self) -> float:
        """ln(measured / predicted)."""
        return math.log(self.observation.ready / self.predicted)

    @property
    def error_by_redo(self) -> float:
        """ln(measured / predicted) for the prediction from the redo alone."""
        return math.log(self.observation.ready / self.by_redo)


def cluster_of(each: HeldOutPrediction) -> str:
    """Return the independent unit of a prediction: its crash, server, storage or machine.

    Several recoveries of one unit count about as much as one.
    """
    if each.held_out in OF_MACHINES:
        return each.machine
    if each.held_out in OF_CALIBRATED:
        return f"{each.observation.server} on {each.machine}"
    if each.held_out is HeldOut.UNSEEN_STORAGE:
        return f"{each.observation.family} on {each.observation.storage}"
    return each.observation.server if each.held_out is HeldOut.SERVER else each.observation.crash_name


def weights(units: Sequence[str]) -> list[float]:
    """Return weights by which each unit counts once; `units` has the unit's name for each prediction."""
    counts = Counter(units)
    return [1 / counts[each] for each in units]


def weighted_median(values: Sequence[float], units: Sequence[str]) -> float:
    """Return the median of values, each unit counting once; the mean of two if they are equally central."""
    order = np.argsort(values)
    ascending, cumulated = np.asarray(values)[order], np.cumsum(np.asarray(weights(units))[order])
    half = cumulated[-1] / 2
    # Round: the last digit of a sum of thirds must not decide.
    first, second = (np.searchsorted(cumulated, half * (1 + sign * _TINY)) for sign in (-1, 1))
    return float((ascending[first] + ascending[second]) / 2)


def judged(observations: Sequence[Observation], relatives: Mapping[str, Sequence[str]]) -> list[HeldOutPrediction]:
    """Return every held-out prediction that these recoveries allow.

    `relatives`: server → other servers of its family, the nearest first.
    """
    families = by_key(observations, lambda each: each.family).values()
    return [each for family in families for each in _of_family(family, relatives)]


def _of_family(observations: Sequence[Observation], relatives: Mapping[str, Sequence[str]]) -> list[HeldOutPrediction]:
    fits = Fits()
    subjects = by_key(observations, lambda each: each.subject)
    found: list[HeldOutPrediction] = []

    def hold_out(kind: HeldOut, unseen: Sequence[Observation]) -> None:
        found.extend(_predicted_without(kind, unseen, observations, fits))

    for of_run in by_key(observations, lambda each: each.run).values():
        hold_out(HeldOut.RUN, of_run)
    for on_storage in by_key(observations, lambda each: each.storage).values():
        hold_out(HeldOut.UNSEEN_STORAGE, on_storage)
    for (server, workload), own in subjects.items():
        hold_out(HeldOut.LOG_SIZE, [each for each in own if each.log_size > FITTED_UP_TO])
        for of_crash in by_key(own, lambda each: each.crash_name).values():
            hold_out(HeldOut.CRASH, of_crash)
        # The share of the log matters more than the bytes of a pool.
        for with_pool in by_key(own, lambda each: f"{each.pool / each.log_size:.2f}").values():
            hold_out(HeldOut.POOL, with_pool)
        for on_storage in by_key(own, lambda each: each.storage).values():
            hold_out(HeldOut.STORAGE, on_storage)
        nearest = next((other for other in relatives.get(server, ()) if (other, workload) in subjects), None)
        if nearest is not None:
            relative = fits.of([each for each in observations if each.server != server])[nearest, workload]
            seen_on = {each.storage for each in subjects[nearest, workload]}
            on_these = [each for each in own if each.storage in seen_on and each.is_judged]
            found += [held_out_prediction(HeldOut.SERVER, each, relative) for each in on_these]
    return found


def _predicted_without(
    kind: HeldOut, unseen: Sequence[Observation], observations: Sequence[Observation], fits: Fits
) -> list[HeldOutPrediction]:
    """Return predictions of `unseen` by the other recoveries, if those suffice."""
    left_out = {id(each) for each in unseen}
    seen = [each for each in observations if id(each) not in left_out]
    on_storage, known = Counter(each.storage for each in seen), {each.subject for each in seen}
    predicted = [each for each in unseen if each.subject in known and each.is_judged]
    if not predicted:
        return []
    if kind in (HeldOut.STORAGE, HeldOut.UNSEEN_STORAGE, HeldOut.RUN):
        disks = sum(count >= RECOVERIES_OF_A_DISK for count in on_storage.values())
        if disks < _DISKS and any(each.storage not in on_storage for each in predicted):
            return []
    if kind is HeldOut.STORAGE:
        # A storage that no other server of the family was measured on counts as `UNSEEN_STORAGE`.
        predicted = [each for each in predicted if each.storage in on_storage]
    if kind in (HeldOut.STORAGE, HeldOut.UNSEEN_STORAGE):
        # A calibration used for another disk never has fewer.
        crashes = Counter(subject for subject, _ in {(each.subject, each.crash_name) for each in seen})
        predicted = [each for each in predicted if crashes[each.subject] >= ENOUGH_CRASHES]
    fitted = fits.of(seen)
    return [held_out_prediction(kind, each, fitted[each.subject]) for each in predicted]


def held_out_prediction(
    kind: HeldOut, each: Observation, fitted: Fitted, disk: DiskRates | None = None, machine: str = ""
) -> HeldOutPrediction:
    """Predict a recovery that `fitted` was not trained on. `disk`: figures to predict with, by default its own."""
    disk = disk or each.disk
    return HeldOutPrediction(
        kind,
        each,
        fitted.ready(each.crash, each.pool, disk),
        fitted.ready_by_redo(each.crash.redo, each.pool, disk),
        machine,
    )
