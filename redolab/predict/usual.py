"""A crash at a random time: its possible checkpoint ages, and the recovery time after it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from redolab.counters.series import HOUR
from redolab.predict.demand import Demand
from redolab.predict.question import Model
from redolab.predict.recovery import crashes_at
from redolab.predict.recovery_time.moments import ChanceBeyond, PossibleCrash, chance_beyond, seconds_within
from redolab.units import size_span

_LEAST_AGE = 1 << 20
"""Smallest checkpoint age in bytes: below it, recovery takes almost no time."""
_FEWEST = 10
"""Fewest samples for a distribution."""
_FEWEST_FOR_NINETY_NINE = 99
_IN_OTHERS = "in the same share of a larger log and as many bytes of a smaller one"
_FILLED = 3
_NEARLY = 0.95
"""Share of an hour that counts as a whole one: the last sample is taken before its end."""


@dataclass(frozen=True, slots=True)
class UsualAges:
    """Possible checkpoint ages at a crash."""

    by_limit: Mapping[int, tuple[float, ...]]
    """Checkpoint age at which statements waited in the samples, in bytes → equally likely ages as shares of it."""
    source: str
    """Source of the ages, in words."""

    def at(self, limit: int) -> tuple[float, ...]:
        """Return ages in bytes for a log in which statements wait at `limit`, scaled from the nearest sampled log, none
        too low.

        Flushing begins at a share of the log. A larger log is filled to the same share at most, a smaller one to the
        same bytes at most.
        """
        nearest = min(self.by_limit, key=lambda known: abs(math.log(known / limit)))
        return tuple(min(share * max(nearest, limit), limit) for share in self.by_limit[nearest])


class UsualRecovery(msgspec.Struct, frozen=True, kw_only=True):
    """Recovery after a random crash, with one log size."""

    half_s: float
    ninety_five_s: float
    """95 % upper bound in seconds; infinite if more than one recovery in twenty gets stuck."""
    ninety_nine_s: float | None
    """99 % upper bound in seconds; None with fewer than 99 ages, which need not include the worst in a hundred."""
    too_long: ChanceBeyond
    """Probability of exceeding the limit."""


def usual_ages(model: Model, demand: Demand) -> UsualAges | None:
    """Return the ages of the samples, else of a load with the kind of redo asked about; None if neither is known."""
    if len(demand.ages) >= _FEWEST and demand.age_limit and _have_settled(demand):
        shares = tuple(min(1.0, age / demand.age_limit) for age in demand.ages)
        return UsualAges({demand.age_limit: shares}, f"as in the samples, {_IN_OTHERS}")
    measured = model.fitted.moments
    storages = [model.storage] if model.storage in measured else list(measured)
    known: dict[int, tuple[float, ...]] = {}
    for name in storages:
        for size, shares in measured[name].items():
            known[size] = (*known.get(size, ()), *shares)
    known = {size: shares for size, shares in known.items() if len(shares) >= _FEWEST}
    if not known:
        return None
    crashes = sum(len(shares) for shares in known.values())
    machine = " of the project's machine" if model.fitted.scaled_by else ""
    of_whom = f"{crashes} crashes of {model.measured_as} under {model.workload} on {' and '.join(storages)}{machine}"
    return UsualAges(
        {model.worst_age(size): shares for size, shares in known.items()},
        f"of {of_whom}, with logs of {size_span(known)} and the settings of production, {_IN_OTHERS}",
    )


def _have_settled(demand: Demand) -> bool:
    """Return True if the samples go beyond the rise of the age after a start, which ends once the log was filled."""
    filled = math.inf if not (demand.age_limit and demand.redo_per_hour) else demand.age_limit / demand.redo_per_hour
    return demand.sampled_s >= _NEARLY * HOUR * min(1.0, _FILLED * filled)


def usual_crashes(model: Model, log_size: int, ages: UsualAges) -> list[PossibleCrash]:
    """Return crashes at random times with a log of that size."""
    likely = ages.at(model.worst_age(log_size))
    return crashes_at(model, log_size, [max(_LEAST_AGE, math.ceil(age)) for age in likely])


def worst_crash(model: Model, log_size: int) -> list[PossibleCrash]:
    """Return the single crash with the log as full as it gets."""
    return crashes_at(model, log_size, [model.worst_age(log_size)])


def usual_recovery(crashes: Sequence[PossibleCrash], rto: float) -> UsualRecovery:
    """Return the distribution of the recovery time after these crashes, and the probability to exceed `rto` seconds."""
    return UsualRecovery(
        half_s=seconds_within(crashes, 0.5),
        ninety_five_s=seconds_within(crashes, 0.95),
        ninety_nine_s=seconds_within(crashes, 0.99) if len(crashes) >= _FEWEST_FOR_NINETY_NINE else None,
        too_long=chance_beyond(crashes, rto),
    )
