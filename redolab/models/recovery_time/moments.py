"""How long recovery takes after a crash at a moment that nobody chose: over the moments, over what a prediction may be off by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import optimize, stats

from redolab.models.recovery_time.spread import Spread

_FURTHEST = 50.0
"""A quantile is looked for within e^±50 of the predictions."""


@dataclass(frozen=True, slots=True)
class PossibleCrash:
    """A crash as it may come."""

    weight: float
    """How likely it is among those of a list; they need not add up to one."""
    seconds: float
    """Predicted."""
    spread: Spread
    """By how much such predictions are off."""
    stuck: float = 0.0
    """How likely it is that its recovery never ends, 0 to 1."""

    def chance_within(self, seconds: float) -> float:
        """How likely its recovery ends within so many seconds."""
        if seconds <= 0:
            return 0.0
        off = math.log(seconds / self.seconds) / self.spread.deviation
        return (1 - self.stuck) * float(stats.t.cdf(off, max(1, self.spread.count)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChanceBeyond:
    """How likely a recovery takes longer than asked, and of what that is made up; shares of all crashes."""

    whole: float
    stuck: float
    """Recoveries that never end."""
    moment: float
    """Recoveries that would be too long if every prediction were exact: the crash came at a bad moment."""

    @property
    def model(self) -> float:
        """What predictions being off adds; below 0 where it takes away more than it adds."""
        return self.whole - self.stuck - self.moment


def chance_beyond(crashes: Sequence[PossibleCrash], seconds: float) -> ChanceBeyond:
    """How likely the recovery of one of these takes longer. Raises `ValueError` if there are none."""
    total = _total(crashes)
    stuck = sum(each.weight * each.stuck for each in crashes) / total
    late = sum(each.weight * (1 - each.stuck) for each in crashes if each.seconds > seconds) / total
    within = sum(each.weight * each.chance_within(seconds) for each in crashes) / total
    return ChanceBeyond(whole=1 - within, stuck=stuck, moment=late)


def seconds_within(crashes: Sequence[PossibleCrash], share: float) -> float:
    """The seconds within which that share of recoveries ends; infinite where more than the rest get stuck.

    Raises `ValueError` if there are none.
    """
    total = _total(crashes)
    if share >= 1 - sum(each.weight * each.stuck for each in crashes) / total:
        return math.inf

    def missing(logarithm: float) -> float:
        at = math.exp(logarithm)
        return sum(each.weight * each.chance_within(at) for each in crashes) / total - share

    logarithms = [math.log(each.seconds) for each in crashes]
    return math.exp(optimize.brentq(missing, min(logarithms) - _FURTHEST, max(logarithms) + _FURTHEST))


def _total(crashes: Sequence[PossibleCrash]) -> float:
    total = sum(each.weight for each in crashes)
    if total <= 0:
        raise ValueError("no crash to speak of")
    return total
