"""A crash on an ordinary day: at which checkpoint ages it may find a server, and how long recovery then takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from redolab.models.recovery_time.moments import PossibleCrash, chance_beyond, seconds_within
from redolab.samples.series import HOUR
from redolab.sizing.crash import worst_age
from redolab.sizing.demand import Demand
from redolab.sizing.question import Model
from redolab.sizing.recovery import crashes_at
from redolab.sizing.reservations import span

_LEAST_AGE = 1 << 20
"""Bytes: at any smaller age recovery is as good as none."""
_FEWEST = 10
"""Moments: fewer are no distribution."""
_FEWEST_FOR_NINETY_NINE = 99
_IN_OTHERS = "in the same share of a larger log and as many bytes of a smaller one"
_FILLED = 3
_NEARLY = 0.95
"""The last of an hour's samples is not at its end."""


@dataclass(frozen=True, slots=True)
class UsualAges:
    """Where the checkpoint age may be when a crash comes."""

    by_limit: Mapping[int, tuple[float, ...]]
    """The age at which statements waited when they were met, bytes → shares of it, each as likely."""
    source: str
    """Whose they are, in words."""

    def at(self, limit: int) -> tuple[float, ...]:
        """Ages in bytes with a log in which statements wait at `limit`, none too low: from the nearest log with which they were met.

        Flushing begins at a share of the log: a larger one is filled to the same share at most, a smaller one to the same bytes at most.
        """
        met = min(self.by_limit, key=lambda known: abs(math.log(known / limit)))
        return tuple(min(share * max(met, limit), limit) for share in self.by_limit[met])


class UsualRecovery(msgspec.Struct, frozen=True, kw_only=True):
    """Recovery after a crash at a random moment, with one size of log."""

    half_s: float
    ninety_five_s: float
    """Infinite where more than one recovery in twenty gets stuck."""
    ninety_nine_s: float | None
    """None where fewer than 99 moments are known: the worst one in a hundred is not among them."""
    chance_too_long: float
    """To take longer than the time that was asked for, 0 to 1; the next three add up to it."""
    by_stuck: float
    by_moment: float
    by_model: float


def usual_ages(model: Model, demand: Demand) -> UsualAges | None:
    """The ages of the samples, else those of a load of the kind of redo that is asked about; None where neither is known."""
    if len(demand.ages) >= _FEWEST and demand.age_limit and _have_settled(demand):
        shares = tuple(min(1.0, age / demand.age_limit) for age in demand.ages)
        return UsualAges({demand.age_limit: shares}, f"as in the samples, {_IN_OTHERS}")
    measured = model.learned.moments
    storages = [model.storage] if model.storage in measured else list(measured)
    known: dict[int, tuple[float, ...]] = {}
    for name in storages:
        for size, shares in measured[name].items():
            known[size] = (*known.get(size, ()), *shares)
    known = {size: shares for size, shares in known.items() if len(shares) >= _FEWEST}
    if not known:
        return None
    crashes = sum(len(shares) for shares in known.values())
    machine = " of the project's machine" if model.learned.scaled_by else ""
    of_whom = f"{crashes} crashes of {model.measured_as} under {model.workload} on {' and '.join(storages)}{machine}"
    return UsualAges(
        {worst_age(model, size): shares for size, shares in known.items()},
        f"of {of_whom}, with logs of {span(known)} and the settings of production, {_IN_OTHERS}",
    )


def _have_settled(demand: Demand) -> bool:
    """Whether the samples cover more than the first rise of the age after a start, which ends when the log has been filled."""
    filled = math.inf if not (demand.age_limit and demand.redo_per_hour) else demand.age_limit / demand.redo_per_hour
    return demand.sampled_s >= _NEARLY * HOUR * min(1.0, _FILLED * filled)


def usual_crashes(model: Model, log_size: int, ages: UsualAges) -> list[PossibleCrash]:
    """Crashes at random moments with a log of that size."""
    met = ages.at(worst_age(model, log_size))
    return crashes_at(model, log_size, [max(_LEAST_AGE, math.ceil(age)) for age in met])


def worst_crash(model: Model, log_size: int) -> list[PossibleCrash]:
    """The crash with the log as full as it gets, alone."""
    return crashes_at(model, log_size, [worst_age(model, log_size)])


def usual_recovery(crashes: Sequence[PossibleCrash], rto: float) -> UsualRecovery:
    """How long recovery takes after one of these, and how likely longer than `rto` seconds."""
    chance = chance_beyond(crashes, rto)
    return UsualRecovery(
        half_s=seconds_within(crashes, 0.5),
        ninety_five_s=seconds_within(crashes, 0.95),
        ninety_nine_s=seconds_within(crashes, 0.99) if len(crashes) >= _FEWEST_FOR_NINETY_NINE else None,
        chance_too_long=chance.whole,
        by_stuck=chance.stuck,
        by_moment=chance.moment,
        by_model=chance.model,
    )
