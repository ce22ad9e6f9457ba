"""Ways in which a prediction extrapolates beyond the measurements, and the errors that follow from them."""

from __future__ import annotations

import math

from redolab.disks.profiles import HOME
from redolab.predict.calibration import CalibratedWorkload, Calibration
from redolab.predict.question import Model
from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.spread import Spread, combined
from redolab.predict.recovery_time.spreads import ByKind

BEYOND = 1.05
"""Multiple of the measured range beyond which a size is an extrapolation."""


def storage_extrapolation(
    calibration: Calibration, family: str, fitted: CalibratedWorkload, storage: str
) -> HeldOut | None:
    """Return how a prediction for a storage extrapolates from a server under a workload; None if it does not."""
    if storage in fitted.storages:
        return None
    kinds, servers = calibration.spreads.kinds, calibration.servers.values()
    of_family = [other for each in servers if each.family == family for other in each.workloads.values()]
    if HeldOut.STORAGE in kinds and any(storage in each.storages for each in of_family):
        return HeldOut.STORAGE
    return HeldOut.UNSEEN_STORAGE if HeldOut.UNSEEN_STORAGE in kinds else HeldOut.STORAGE


def machine_kind(storage: str) -> HeldOut:
    """Return the kind of a prediction for another machine on a storage."""
    return HeldOut.MACHINE if storage == HOME else HeldOut.LIMITED


def machine_extrapolation(calibration: Calibration, storage: str) -> HeldOut | None:
    """Return how a prediction extrapolates to another machine; None for a user's own calibration."""
    way = machine_kind(storage)
    return way if way in calibration.spreads.kinds else None


def spreads_for(model: Model) -> ByKind:
    """Return the errors for a question: wider if the dirty pages are not given."""
    return model.calibration.spreads.of(pages_given=model.question.dirty_pages is not None)


def is_other_pool(model: Model) -> bool:
    """Return True if no pool like the one asked about was measured."""
    least, most = model.fitted.pools
    return not least / BEYOND <= model.question.pool <= most * BEYOND


def widenings(model: Model, log_size: int) -> dict[HeldOut, Spread]:
    """Return the errors for another crash, and for each way in which a prediction for that log extrapolates."""
    known = spreads_for(model)
    ways = [HeldOut.CRASH, *model.extrapolations]
    if is_other_pool(model):
        ways.append(HeldOut.POOL)
    found = {way: known[way] for way in ways if way in known}
    largest = model.fitted.sure_up_to
    if log_size > largest * BEYOND and HeldOut.LOG_SIZE in known:
        found[HeldOut.LOG_SIZE] = known[HeldOut.LOG_SIZE].at(math.log2(log_size / largest))
    return found


def recovery_spread(model: Model, log_size: int) -> Spread:
    """Return the error of a predicted recovery with a log of that size."""
    within, *beyond = widenings(model, log_size).values()
    return combined(within, beyond)


def rollback_spread(model: Model, of_recovery: Spread) -> Spread:
    """Return the error of the seconds of a rollback; that of the recovery if no better is known."""
    known = {**spreads_for(model), **model.calibration.rollback_spreads}
    is_own = model.storage in model.server.rollback_on and HeldOut.SERVER not in model.extrapolations
    ways = [None if is_own else HeldOut.SERVER, machine_extrapolation(model.calibration, model.storage)]
    within = model.calibration.rollback_spreads.get(HeldOut.CRASH, of_recovery)
    return combined(within, [known[way] for way in ways if way is not None and way in known])


def tables_spread(model: Model, of_recovery: Spread) -> Spread:
    """Return the error of the seconds that tables add; another machine or server adds as much as to the recovery."""
    within, known = model.calibration.tables_spread, spreads_for(model)
    if within is None:
        return of_recovery
    ways = (HeldOut.SERVER, machine_extrapolation(model.calibration, model.storage))
    return combined(
        within, [known[way] for way in ways if way is not None and way in model.extrapolations and way in known]
    )
