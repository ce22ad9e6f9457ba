"""Ways in which a prediction extrapolates beyond the measurements, and the errors that follow from them."""

from __future__ import annotations

import math
from dataclasses import replace

from redolab.models.recovery_time.held_out import OF_MACHINES, HeldOut
from redolab.models.recovery_time.spread import Spread, together
from redolab.models.recovery_time.spreads import ByKind
from redolab.sizing.calibration import CalibratedWorkload, Calibration
from redolab.sizing.question import Model
from redolab.storage.profiles import HOME

BEYOND = 1.05
"""Multiple of the measured range beyond which a size is an extrapolation."""
_BY_STORAGE = (HeldOut.STORAGE, HeldOut.UNSEEN_STORAGE, *OF_MACHINES)


def storage_extrapolation(
    calibration: Calibration, family: str, learned: CalibratedWorkload, storage: str
) -> HeldOut | None:
    """Return how a prediction for a storage extrapolates from a server under a workload; None if it does not."""
    if storage in learned.storages:
        return None
    kinds = calibration.spreads.kinds
    if storage in storages_of_family(calibration, family) and HeldOut.STORAGE in kinds:
        return HeldOut.STORAGE
    return HeldOut.UNSEEN_STORAGE if HeldOut.UNSEEN_STORAGE in kinds else HeldOut.STORAGE


def machine_extrapolation(calibration: Calibration, storage: str) -> HeldOut | None:
    """Return how a prediction extrapolates to another machine; None for a user's own calibration."""
    way = HeldOut.MACHINE if storage == HOME else HeldOut.LIMITED
    return way if way in calibration.spreads.kinds else None


def storages_of_family(calibration: Calibration, family: str) -> list[str]:
    """Return the storages on which a server of that family was measured, under any workload."""
    servers = [each for each in calibration.servers.values() if each.family == family]
    return list(
        dict.fromkeys(name for each in servers for learned in each.workloads.values() for name in learned.storages)
    )


def on_storage(model: Model, name: str) -> Model:
    """Return the model on another storage of the calibration."""
    known = model.calibration
    ways = (
        storage_extrapolation(known, model.server.family, model.learned, name),
        machine_extrapolation(known, name),
    )
    of_others = [each for each in model.extrapolations if each not in _BY_STORAGE]
    return replace(
        model,
        storage=name,
        disk=known.storages[name].disk,
        extrapolations=(*of_others, *(each for each in ways if each is not None)),
    )


def spreads_for(model: Model) -> ByKind:
    """Return the errors for a question: wider if the dirty pages are not given."""
    return model.calibration.spreads.of(pages_given=model.question.dirty_pages is not None)


def widenings(model: Model, log_size: int) -> dict[HeldOut, Spread]:
    """Return the errors for another crash, and for each way in which a prediction for that log extrapolates."""
    known = spreads_for(model)
    ways = [HeldOut.CRASH, *model.extrapolations]
    least, most = model.learned.pools
    if not least / BEYOND <= model.question.pool <= most * BEYOND:
        ways.append(HeldOut.POOL)
    found = {way: known[way] for way in ways if way in known}
    largest = model.learned.sure_up_to
    if log_size > largest * BEYOND and HeldOut.LOG_SIZE in known:
        found[HeldOut.LOG_SIZE] = known[HeldOut.LOG_SIZE].at(math.log2(log_size / largest))
    return found


def recovery_spread(model: Model, log_size: int) -> Spread:
    """Return the error of a predicted recovery with a log of that size."""
    within, *beyond = widenings(model, log_size).values()
    return together(within, beyond)


def rollback_spread(model: Model, of_recovery: Spread) -> Spread:
    """Return the error of the seconds of a rollback; that of the recovery if no better is known."""
    known = {**spreads_for(model), **model.calibration.rollback_spreads}
    is_own = model.storage in model.server.rollback_on and HeldOut.SERVER not in model.extrapolations
    ways = [None if is_own else HeldOut.SERVER, machine_extrapolation(model.calibration, model.storage)]
    within = model.calibration.rollback_spreads.get(HeldOut.CRASH, of_recovery)
    return together(within, [known[way] for way in ways if way is not None and way in known])


def tables_spread(model: Model, of_recovery: Spread) -> Spread:
    """Return the error of the seconds that tables add; another machine or server adds as much as to the recovery."""
    within, known = model.calibration.tables_spread, spreads_for(model)
    if within is None:
        return of_recovery
    ways = (HeldOut.SERVER, machine_extrapolation(model.calibration, model.storage))
    return together(
        within, [known[way] for way in ways if way is not None and way in model.extrapolations and way in known]
    )
